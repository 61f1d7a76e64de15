"""The lab worker: jobs, drivers, boots, traffic and counts, by the standard library alone."""
