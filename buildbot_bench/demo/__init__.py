"""A whole farm on one machine, and the commands that operate a farm."""
