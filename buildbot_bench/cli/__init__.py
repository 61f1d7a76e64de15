"""The commands that a person types: bench-bisect, bench-compare and bench-ministat."""
