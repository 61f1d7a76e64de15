"""Simulated labs, independent of the model's constants, in which the search is judged."""
