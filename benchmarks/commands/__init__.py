"""Real histories of a small C library, searched by real commands."""
