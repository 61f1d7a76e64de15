"""Archives of kernels, read within budgets, by the standard library alone."""
