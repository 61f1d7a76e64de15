"""The commands that a person types; they talk to the farm over REST."""
