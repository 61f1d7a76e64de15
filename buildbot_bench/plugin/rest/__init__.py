"""The resources under /api/v2/bench: what a path and its JSON mean."""
