"""The choice of the build that Buildbot starts next, by the claimants' shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from buildbot_bench.plugin.farm import Farm, farm_of
from buildbot_bench.plugin.queries.build_turns import build_turns, keep_build

_LOG = Logger()
_IMAGE = "bench_image"


def next_build(builder: Any, requests: Sequence[Any]) -> Deferred[Any]:
    """Buildbot's question which of some requests is built next; it asks on each master."""
    return Deferred.fromCoroutine(_next_build(farm_of(builder.master), requests))


def begin_build(builder: Any, _worker: Any, request: Any) -> Deferred[bool]:
    """Buildbot's question whether a build may start: it may, and counts for its claimant."""
    return Deferred.fromCoroutine(_begin_build(farm_of(builder.master), request))


async def _next_build(farm: Farm, requests: Sequence[Any]) -> Any:
    by_image = {_image_of(request): request for request in requests}
    if (by_hand := by_image.get(None)) is not None:
        return by_hand  # of no kernel of ours: of a person who controls the farm
    try:
        found = await build_turns(farm)
        turn = next(found.order(number for number in by_image if number is not None), None)
    except Exception:  # noqa: BLE001 - else Buildbot would start none before its next event
        _LOG.failure(
            "bench: builds are not shared out fairly: the tables do not say whose they are"
        )
        turn = None
    # Of what nobody waits for any more, and is about to be called off, Buildbot's order is good.
    highest = max(requests, key=lambda request: (request.priority, -request.id))
    return highest if turn is None else by_image[turn.demand.number]


async def _begin_build(farm: Farm, request: Any) -> bool:
    number = _image_of(request)
    if number is not None:
        await keep_build(farm, number)
    return True


def _image_of(request: Any) -> int | None:
    found: int | None = request.properties.getProperty(_IMAGE)
    return found
