"""What a builder worker does: check out, build, pack; the standard library alone."""
