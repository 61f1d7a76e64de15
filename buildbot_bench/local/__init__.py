"""Searches and comparisons without a farm: in one git repository, on this machine."""
