"""Incidents of a branch: breakages, steps that several series share, and their ends."""
