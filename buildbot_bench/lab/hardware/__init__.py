"""Testbeds of real machines that are reached by ssh: parts and operation."""
