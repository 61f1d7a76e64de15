"""Buildbot Bench: finds the commit that made the FreeBSD kernel forward fewer packets."""
