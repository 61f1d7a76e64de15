"""What runs on the lab worker: boots, blasts and counts, with the standard library alone."""
