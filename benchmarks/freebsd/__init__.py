"""Benchmarks on a FreeBSD source tree of the user's."""
