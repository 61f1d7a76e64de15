"""What requests wait for, and what a search is expected to cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from buildbot.data.resultspec import Filter

from buildbot_bench.api.answers import ForecastShown, ForecastSpread, ProbeState, RangeShown
from buildbot_bench.core.json_model import Json, to_json
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search import Forecast, forecast
from buildbot_bench.core.sharing import (
    WaitForBuild,
    WaitForDecision,
    WaitForTestbed,
    what_it_waits_for,
)
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.probes import ClaimRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import LONG_S, calculate, known
from buildbot_bench.plugin.queries.evidence import SearchInputs, gather, item_on
from buildbot_bench.plugin.queries.history import revision_shown
from buildbot_bench.plugin.queries.turns import (
    BuildTurns,
    LabTurns,
    WorkerQueue,
    build_turns,
    has_used_up,
    lab_turns,
)


async def expected(search: NewSearch, inputs: SearchInputs) -> Json:
    """What a search costs from now on, waited for."""
    found = await calculate(forecast, *_question(inputs), limit_s=LONG_S)
    return _as_json(search, inputs, found)


async def gather_first(farm: Farm, search: SearchRow) -> SearchInputs:
    """What was known of a range when its search was asked for; what came since is its own."""
    inputs = await gather(farm, search)
    measured = [one for one in inputs.evidence.measurements if one.at_s <= search.created_at]
    return replace(inputs, evidence=replace(inputs.evidence, measurements=tuple(measured)))


def expected_if_known(
    search: NewSearch, inputs: SearchInputs, *, then: Callable[[], object]
) -> Json | None:
    """The same as `expected`; None, and `then` when it is known."""
    found = known(forecast, *_question(inputs), then=then, limit_s=LONG_S)
    return None if found is None else _as_json(search, inputs, found)


def left(inputs: SearchInputs) -> Json | None:
    """The median of what a search still takes; `over` when it has all, None until it is known."""
    found = known(forecast, *_question(inputs), limit_s=LONG_S)
    if found is None:
        return None
    return {
        "iterations": found.iterations[0],
        "images": found.images[0],
        "hours": found.hours[0],
        "over": found.iterations[1] == 0,
    }


def _question(inputs: SearchInputs) -> tuple[Any, ...]:
    return inputs.range.n, inputs.costs, inputs.policy, inputs.evidence


def range_json(search: NewSearch, between: RevisionRange) -> Json:
    """What is searched, and where."""
    return to_json(RangeShown(**_range(search, between)))


def _range(search: NewSearch, between: RevisionRange) -> dict[str, Any]:
    return {
        "old": revision_shown(between.old),
        "new": revision_shown(between.new),
        "commits": between.n,
        "testbed": search.testbed,
        "workload": search.workload,
    }


def _as_json(search: NewSearch, inputs: SearchInputs, found: Forecast) -> Json:
    shown = ForecastShown(
        **_range(search, inputs.range),
        images=_spread(found.images),
        iterations=_spread(found.iterations),
        hours=_spread(found.hours),
        known_iterations=len(inputs.evidence.measurements),
    )
    return to_json(shown)


def _spread(quantiles: tuple[float, float]) -> ForecastSpread:
    median, p90 = quantiles
    return ForecastSpread(median=median, p90=p90)


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """By the ids of probes what each waits for, and where it stands in its worker's queue.

    What a worker does, or does next, waits for nothing and is not in `texts`. `searches` and
    `ab_tests` have the words of each one's first request that waits, of those of which none is at
    work; `images` those of each kernel that is to be built. `workloads` says of each series, by
    testbed and workload, that its workload is in doubt.
    """

    texts: Mapping[int, str] = field(default_factory=dict)
    places: Mapping[int, int] = field(default_factory=dict)
    searches: Mapping[int, str] = field(default_factory=dict)
    ab_tests: Mapping[int, str] = field(default_factory=dict)
    images: Mapping[int, str] = field(default_factory=dict)
    workloads: Mapping[tuple[str, str], str] = field(default_factory=dict)


async def waits(farm: Farm) -> Waits:
    """How it stands now."""
    found = await lab_turns(farm)
    texts: dict[int, str] = {}
    places: dict[int, int] = {}
    beds = {wish.row.testbed for wish in found.wishes if isinstance(wish.row, ClaimRow)}
    iterations = {name: (await item_on(farm, name)).iteration for name in beds}
    for worker, queue in found.queues.items():
        known = await farm.master.data.get(("workers", worker)) if queue.ready else None
        away = None if known is None or known["connected_to"] else worker
        texts |= _in_turn(queue, away, iterations)
        at_work = [wish.row for wish in queue.handed if isinstance(wish.row, ClaimRow)]
        in_turn = [turn.wish.row for turn in queue.order() if isinstance(turn.wish.row, ClaimRow)]
        places |= {row.id: place for place, row in enumerate((*at_work, *in_turn))}
    builds = await build_turns(farm)
    images = await _unbuilt(farm, builds) if builds.images else {}
    texts |= _kept_from(farm, found, texts, images, iterations)
    by_request = _by_request(found, texts)
    for search, image in builds.searches.items():
        by_request["searches"].setdefault(search, images[image])
    workloads = {series: trouble.text for series, trouble in found.broken.items()}
    return Waits(texts=texts, places=places, images=images, workloads=workloads, **by_request)


async def _unbuilt(farm: Farm, builds: BuildTurns) -> dict[int, str]:
    """What each kernel waits for that is to be built, or what builds it."""
    begun = await _begun(farm)
    texts, ahead = {}, []
    for number, image in builds.images.items():
        if image.brid in begun:
            builder = farm.workflow.build_job_of(image.repository).name
            texts[number] = what_it_waits_for(WaitForBuild(label=image.label, builder=builder))
            ahead.append((builds.wishes[number].whose, 1))
    for turn in builds.order(builds.images.keys() - texts.keys()):
        number = turn.demand.number
        wait = WaitForBuild(label=builds.images[number].label, ahead=tuple(ahead))
        texts[number] = what_it_waits_for(wait)
        ahead.append((builds.wishes[number].whose, 1))
    return texts


def _in_turn(queue: WorkerQueue, away: str | None, iterations: Mapping[str, str]) -> dict[int, str]:
    """Of what lacks nothing but its turn."""
    texts = {}
    ahead = [(wish.whose, wish.boots) for wish in queue.handed]
    for turn in queue.order():
        row = turn.wish.row
        if isinstance(row, ClaimRow):
            reason = WaitForTestbed(
                name=row.testbed,
                ahead=tuple(ahead),
                away=away,
                iteration=iterations[row.testbed],
            )
            texts[row.id] = what_it_waits_for(reason)
        ahead.append((turn.wish.whose, turn.wish.boots))
    return texts


def _kept_from(
    farm: Farm,
    found: LabTurns,
    known: Mapping[int, str],
    images: Mapping[int, str],
    iterations: Mapping[str, str],
) -> dict[int, str]:
    """Of what lacks something besides its turn."""
    rows = [
        wish.row
        for wish in found.wishes
        if isinstance(wish.row, ClaimRow)
        and wish.row.state is ProbeState.NEW
        and wish.row.id not in known
    ]
    texts = {}
    for row in rows:
        reason: WaitForBuild | WaitForDecision
        if row.image_id in images:
            texts[row.id] = images[row.image_id]
            continue
        if row.image_state is ImageState.HELD:
            reason = WaitForDecision(by="approval")
        elif row.image_state is not ImageState.BUILT:
            reason = WaitForBuild(label=row.label)
        elif has_used_up(row, found.used_up):
            had, most = found.used_up[row.budget_of or ""], farm.workflow.untrusted
            reason = WaitForDecision(
                by=f"another day: {row.budget_of} had {had} {iterations[row.testbed]}s"
                f" within 24 hours, and {most.boots_a_day} are the most"
            )
        elif (trouble := found.broken.get((row.testbed, row.workload))) is not None:
            reason = WaitForDecision(by=f"its workload: {trouble.text}")
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
