"""The alembic migrations of the bench_* tables."""
