"""The builder worker: check out, build and pack, by the standard library alone."""
