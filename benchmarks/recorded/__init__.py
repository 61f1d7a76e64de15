"""Recorded runs of a compiled program on a busy machine, and searches that replay them."""
