"""The bench_* tables, their migrations and their queries."""
