"""Checks and copies of a farm's tables for its operator, with or without a master."""
