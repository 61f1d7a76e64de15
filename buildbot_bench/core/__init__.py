"""The pure core: statistics, search, verdicts and the report model; no I/O, clock or framework."""
