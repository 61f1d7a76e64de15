"""Buildbot's steps of a kernel job, a lab job and a capture."""
