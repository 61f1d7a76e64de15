"""Testbeds of real machines that are reached by ssh: what they are made of, and how they live."""
