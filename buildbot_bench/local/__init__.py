"""Searches and comparisons in one git repository on this machine, without a farm."""
