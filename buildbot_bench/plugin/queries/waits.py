"""What each open request waits for, in words, for pages and commands; it changes no order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from buildbot.data.resultspec import Filter

from buildbot_bench.core.sharing import (
    WaitForBuild,
    WaitForDecision,
    WaitForTestbed,
    what_it_waits_for,
)
from buildbot_bench.plugin.db.claims import ClaimRow
from buildbot_bench.plugin.db.states import ImageState, ProbeState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.turns import LabTurns, WorkerQueue, has_used_up, lab_turns


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """By the ids of probes what each waits for, and where it stands in its worker's queue.

    What a worker does, or does next, waits for nothing and is not in `texts`. `searches` and
    `ab_tests` have the words of each one's first request that waits, of those of which none is at
    work.
    """

    texts: Mapping[int, str] = field(default_factory=dict)
    places: Mapping[int, int] = field(default_factory=dict)
    searches: Mapping[int, str] = field(default_factory=dict)
    ab_tests: Mapping[int, str] = field(default_factory=dict)


async def waits(farm: Farm) -> Waits:
    """How it stands now."""
    found = await lab_turns(farm)
    texts: dict[int, str] = {}
    places: dict[int, int] = {}
    for worker, queue in found.queues.items():
        known = await farm.master.data.get(("workers", worker)) if queue.ready else None
        away = None if known is None or known["connected_to"] else worker
        texts |= _in_turn(queue, away)
        at_work = [wish.row for wish in queue.handed if isinstance(wish.row, ClaimRow)]
        in_turn = [turn.wish.row for turn in queue.order() if isinstance(turn.wish.row, ClaimRow)]
        places |= {row.id: place for place, row in enumerate((*at_work, *in_turn))}
    texts |= await _kept_from(farm, found, texts)
    return Waits(texts=texts, places=places, **_by_request(found, texts))


def _in_turn(queue: WorkerQueue, away: str | None) -> dict[int, str]:
    """Of what lacks nothing but its turn."""
    texts = {}
    ahead = [(wish.whose, wish.boots) for wish in queue.handed]
    for turn in queue.order():
        row = turn.wish.row
        if isinstance(row, ClaimRow):
            reason = WaitForTestbed(name=row.testbed, ahead=tuple(ahead), away=away)
            texts[row.id] = what_it_waits_for(reason)
        ahead.append((turn.wish.whose, turn.wish.boots))
    return texts


async def _kept_from(farm: Farm, found: LabTurns, known: Mapping[int, str]) -> dict[int, str]:
    """Of what lacks something besides its turn."""
    rows = [
        wish.row
        for wish in found.wishes
        if isinstance(wish.row, ClaimRow)
        and wish.row.state is ProbeState.NEW
        and wish.row.id not in known
    ]
    begun = (
        await _begun(farm) if any(row.image_state is ImageState.BUILDING for row in rows) else ()
    )
    texts = {}
    for row in rows:
        reason: WaitForBuild | WaitForDecision
        if row.image_state is ImageState.HELD:
            reason = WaitForDecision(by="approval")
        elif row.image_state is not ImageState.BUILT:
            builder = farm.workflow.build_job.name if row.image_brid in begun else None
            reason = WaitForBuild(label=row.label, builder=builder)
        elif has_used_up(row, found.used_up):
            had, most = found.used_up[row.ab_test_requester or ""], farm.workflow.untrusted
            reason = WaitForDecision(
                by=f"another day: {row.ab_test_requester} had {had} boots within 24 hours, and"
                f" {most.boots_a_day} are the most"
            )
        else:
            reason = WaitForDecision(by=f"the end of the quarantine of testbed {row.testbed}")
        texts[row.id] = what_it_waits_for(reason)
    return texts


async def _begun(farm: Farm) -> set[int]:
    """The requests that somebody works on."""
    requests = await farm.master.data.get(
        ("buildrequests",), filters=[Filter("complete", "eq", [False])]
    )
    return {request["buildrequestid"] for request in requests if request["claimed"]}


def _by_request(found: LabTurns, texts: Mapping[int, str]) -> dict[str, dict[int, str]]:
    """The words of searches and comparisons of which nothing is at work."""
    words: dict[str, dict[int, list[str]]] = {"searches": {}, "ab_tests": {}}
    # What waits for its turn alone is the nearest.
    for wish in sorted(found.wishes, key=lambda wish: wish.row.image_state is not ImageState.BUILT):
        row = wish.row
        if isinstance(row, ClaimRow):
            for name, number in (("searches", row.search_id), ("ab_tests", row.ab_test_id)):
                if number is not None:
                    words[name].setdefault(number, []).append(texts.get(row.id, ""))
    return {
        name: {number: said[0] for number, said in those.items() if all(said)}
        for name, those in words.items()
    }
