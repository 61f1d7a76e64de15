"""What Buildbot's web pages show of the farm: views of the tables, and the files of the browser."""
