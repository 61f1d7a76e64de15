"""The contrast of two sides: their difference, what denies it, and what more is needed."""
