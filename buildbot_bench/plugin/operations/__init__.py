"""A farm's tables as its operator asks for them, with or without a master: checks and copies."""
