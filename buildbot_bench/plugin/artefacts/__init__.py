"""Kernel artefacts, named by their digests, and the places that store them."""

from buildbot_bench.plugin.artefacts.http import place_at
from buildbot_bench.plugin.artefacts.place import (
    BLOCK_BYTES,
    Artefact,
    ArtefactMissingError,
    Artefacts,
    Place,
)

__all__ = [
    "BLOCK_BYTES",
    "Artefact",
    "ArtefactMissingError",
    "Artefacts",
    "Place",
    "place_at",
]
