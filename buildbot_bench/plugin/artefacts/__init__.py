"""Kernel artefacts, named by their digests, and the places that store them."""

from buildbot_bench.plugin.artefacts.place import (
    BLOCK_BYTES,
    Artefact,
    ArtefactMissingError,
    Artefacts,
    Place,
)
from buildbot_bench.plugin.artefacts.signing import place_at

__all__ = [
    "BLOCK_BYTES",
    "Artefact",
    "ArtefactMissingError",
    "Artefacts",
    "Place",
    "place_at",
]
