"""The Buildbot plugin, sole user of Buildbot and Twisted."""
