"""Views of the tables and the mirror, in the terms of the core and of readers."""
