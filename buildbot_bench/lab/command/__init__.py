"""Measurements of a command: settings, one contained run, and its value."""
