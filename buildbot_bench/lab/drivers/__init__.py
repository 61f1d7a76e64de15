"""One small module per kind of testbed."""
