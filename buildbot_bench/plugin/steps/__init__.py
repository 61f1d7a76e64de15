"""The build steps: one file for each job that they make up."""
