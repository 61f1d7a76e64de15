"""The build steps, one per file."""
