"""Benchmarks of searches and judgements: quality and cost, beside other methods."""
