"""The commands that a person types to ask a farm or to search without one."""
