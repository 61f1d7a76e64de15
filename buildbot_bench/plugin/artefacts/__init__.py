"""Kernel artefacts, named by their digests, and the places that store them."""
