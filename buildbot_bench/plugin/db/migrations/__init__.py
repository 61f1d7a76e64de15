"""How the bench_* tables came to be what they are."""
