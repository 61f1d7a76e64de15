"""The pure core: statistics, search, verdicts and the report model."""
