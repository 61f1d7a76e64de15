"""The judge, which decides whether a new sample shows a change of the code."""
