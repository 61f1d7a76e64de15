"""Buildbot's web pages of the farm: their data, and the files of the browser."""
