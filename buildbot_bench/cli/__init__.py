"""The commands that a person types: bench-bisect, bench-compare, bench-judge and bench-ministat."""
