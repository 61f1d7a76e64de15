"""Profiles of a DUT's CPUs: captures, functions, and differences between two captures."""
