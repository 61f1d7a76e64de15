"""The storage of kernels and logs in bench.yml: place and retention."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from buildbot_bench.workflow.fields import PLACE_PATTERN, Model, Name

PlaceUrl = Annotated[str, StringConstraints(pattern=PLACE_PATTERN)]


class RetentionLimits(Model):
    """What is deleted. A kernel that is asked for again is built again.

    Kernels of culprits and of the ends of searches, and what somebody waits for, always stay.
    """

    keep_days: Annotated[int, Field(ge=1)] | None = None
    """Older kernels are deleted."""
    max_gib: Annotated[float, Field(gt=0)] | None = None
    """When there is more than this, the oldest kernels are deleted."""
    logs_days: Annotated[int, Field(ge=1)] | None = None
    """The logs of older boots are deleted, but for those on which a report or a comparison stands.
    What the boots measured stays."""


class ArtefactStorage(Model):
    """Where kernels lie, and for how long."""

    place: PlaceUrl | None = None
    """`https://…`, a server that takes PUT, GET, HEAD and DELETE below this URL, or
    `s3+https://HOST/BUCKET`. Without it, the master's disk."""
    token_secret: Name | None = None
    """The Buildbot secret that lets in: a bearer token, or ACCESS-KEY:SECRET-KEY for S3."""
    region: Name = "us-east-1"
    """S3's name for where its servers stand."""
    retention: RetentionLimits = RetentionLimits()
    """Without it nothing is deleted."""

    @model_validator(mode="after")
    def _place_and_secret_fit(self) -> Self:
        if self.token_secret is not None and self.place is None:
            raise ValueError("'token-secret' needs 'place'")
        if self.token_secret is None and (self.place or "").startswith("s3+"):
            raise ValueError("S3 needs 'token-secret'")
        return self


def _with_place_alone(value: Any) -> Any:
    """`artefacts: URL` is `artefacts: {place: URL}`."""
    return {"place": value} if isinstance(value, str) else value


Storing = Annotated[
    ArtefactStorage,
    BeforeValidator(_with_place_alone, json_schema_input_type=ArtefactStorage | PlaceUrl),
]
