"""The defects of Buildbot and Twisted that the plugin works round, one file a defect."""
