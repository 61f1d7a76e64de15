"""Archives of kernels, read within budgets; the standard library alone."""
