"""Comparisons of two to thirty-two variants: order of boots, verdict and report."""
