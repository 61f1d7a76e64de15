"""A whole farm on one machine, with labs that need no hardware."""
