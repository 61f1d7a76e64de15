"""How an image and iterations of it are asked for, and who goes first; it decides on nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from uuid import uuid4

from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, ImageState, ProbeState
from buildbot_bench.plugin.farm import Farm


class Priority(IntEnum):
    """Buildbot starts the highest first, and the oldest of equals."""

    PERSON = 30
    CONTROL = 25  # three boots a day; a search on a testbed out of control is in vain
    SEARCH = 20
    CONFIRM = 15
    COMMIT = 10
    AHEAD = 5
    SPARE = 2
    BACKFILL = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildTarget:
    """A revision: what it is called, where it stands and, if it is not plain, how it is changed."""

    sha: str
    position: int
    label: str
    variant: str = ""


# What whoever asks brings back to life.
_ASLEEP = frozenset({ImageState.FAILED, ImageState.DROPPED, ImageState.HELD})


async def ask_image(
    farm: Farm, revision: BuildTarget, ordinal: int = 0, *, approved: bool = True
) -> ImageRow:
    """The image of a revision, to be built if nobody asked before.

    One that failed because the builders did is tried again: whoever asks now does so later. So is
    one that was dropped. One that is not `approved` is held until somebody asks for it who may.
    """
    image = await farm.store.ensure_image(
        sha=revision.sha,
        variant=revision.variant or revision.sha,
        ordinal=ordinal,
        position=revision.position,
        label=revision.label,
        now=farm.now(),
        state=ImageState.WANTED if approved else ImageState.HELD,
    )
    if not approved or image.state not in _ASLEEP:
        return image
    revived = await farm.store.change_image(
        image, now=farm.now(), state=ImageState.WANTED, attempt=0
    )
    return revived or image


async def cancel_probes(
    farm: Farm, probes: Iterable[ProbeRow], why: str, *, failure: str | None = None
) -> None:
    """Call off what is still asked for of some probes; `failure` is what readers are told of it."""
    for probe in probes:
        if probe.state not in OPEN_PROBES:
            continue
        await farm.store.change_probe(
            probe, state=ProbeState.CANCELLED, failure=failure or probe.failure, ended_at=farm.now()
        )
        await call_off(farm, probe.brid, why)


async def call_off(farm: Farm, brid: int | None, why: str) -> None:
    """Cancel a request of Buildbot's, if one was made; a build that runs for it is stopped."""
    if brid is not None:
        await farm.master.data.control("cancel", {"reason": why}, ("buildrequests", str(brid)))


async def ask_probe(farm: Farm, request: ProbeRequest) -> ProbeRow:
    """Ask for iterations of an image; the same request asks for the same ones, however often."""
    return await farm.store.ensure_probe(request, token=uuid4().hex, now=farm.now())
