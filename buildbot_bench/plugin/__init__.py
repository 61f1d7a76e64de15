"""The only part that knows Buildbot and Twisted."""
