"""The resources under /api/v2/bench: paths, parameters and JSON."""
