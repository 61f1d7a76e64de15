"""Kernels, named by their digests, and the places where they lie."""

from buildbot_bench.plugin.artefacts.choose import place_at
from buildbot_bench.plugin.artefacts.keeper import BLOCK_BYTES, Artefacts
from buildbot_bench.plugin.artefacts.place import Artefact, ArtefactGoneError, Place

__all__ = ["BLOCK_BYTES", "Artefact", "ArtefactGoneError", "Artefacts", "Place", "place_at"]
