"""More iterations of one revision of a search's range, because a person wants them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import uuid4

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.plugin.broker.ask import Plain, ask_image, ask_probe
from buildbot_bench.plugin.broker.boots import built_for
from buildbot_bench.plugin.broker.priority import Priority
from buildbot_bench.plugin.db.states import ImageState, ProbeReason
from buildbot_bench.plugin.evidence import span_of
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import gone
from buildbot_bench.plugin.orders import orders_of

Json = dict[str, Any]

MOST_ITERATIONS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class MoreBoots:
    """So many boots of a revision; `fresh` has its kernel built anew, for another layout."""

    revision: str
    iterations: int
    fresh: bool = False


async def measure_more(farm: Farm, search_id: int, wish: MoreBoots) -> Json:
    """Ask for the boots, at once and before all else; a search that runs waits for them.

    One that has ended keeps its answer, and its report counts them. Raises UsageError when there
    is no such search, its testbed is gone, the revision does not lie in its range, or there can be
    no other build.
    """
    search = await farm.store.search(search_id)
    if search is None:
        raise UsageError(f"there is no search {search_id}")
    if why := gone(farm, search.testbed, search.workload):
        raise UsageError(why, hint="search the range on another testbed")
    span = await farm.git(span_of, farm, search)
    revision = await farm.git(_within, farm, span, wish.revision)
    wanted = await built_for(farm, search, revision)
    probe = await ask_probe(
        farm,
        f"person:{uuid4().hex}",
        await ask_image(farm, wanted, await _ordinal(farm, wanted, fresh=wish.fresh)),
        testbed=search.testbed,
        workload=search.workload,
        iterations=wish.iterations,
        reason=ProbeReason.PERSON,
        priority=Priority.PERSON,
        search_id=search.id,
    )
    farm.wake()
    return {"probeid": probe.id, "label": wanted.label}


def _within(farm: Farm, span: RevisionRange, revision: str) -> Revision:
    found = farm.history.resolve(revision)
    offset = found.position - span.old.position
    if not 0 <= offset <= span.n or span.revisions[offset].sha != found.sha:
        raise UsageError(
            f"{found.label} does not lie in {span.old.label} to {span.new.label}",
            hint="name a revision of the search's range",
        )
    return found


async def _ordinal(farm: Farm, wanted: Plain, *, fresh: bool) -> int:
    """Which build is meant: the first that is no failure, or one that there is not yet."""
    orders = await orders_of(farm, wanted.variant or wanted.sha, wanted.position)
    if fresh and orders.alike:
        raise UsageError(
            f"another build of {wanted.label} would be its first one again: the job cannot relink",
            hint="boot it without `fresh`, or have the job heed BENCH_IMAGE",
        )
    for ordinal in count():
        image = await farm.store.image_of(wanted.variant or wanted.sha, ordinal)
        if image is None or not (fresh or image.state == ImageState.UNTESTABLE):
            break
    return ordinal
