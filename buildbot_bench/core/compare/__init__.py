"""Comparisons of two to sixteen variants: order of boots, verdict and report."""
