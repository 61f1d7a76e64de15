"""The bench_* tables: schema, rows, migrations and queries."""
