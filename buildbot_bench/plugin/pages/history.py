"""A testbed's and workload's whole history in compact arrays, for a chart; it draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from buildbot_bench.core.sample import KNOWN_METRICS, PPS
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.states import ComparisonState, SearchState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import gone, gone_lanes, lanes
from buildbot_bench.plugin.pages.bands import bands
from buildbot_bench.plugin.pages.series import Series

Json = dict[str, Any]

_WHOLE_FROM = 10_000.0
_ALARMS = (ComparisonState.REGRESSION, ComparisonState.IMPROVEMENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A commit that changed the level: found by a search, or an alarm without one.

    `effect` is a fraction of the old level; `searchid` is None for an alarm.
    """

    kind: str
    position: int
    label: str
    effect: float | None
    searchid: int | None


async def lane_list(farm: Farm) -> list[Json]:
    """What is measured where, and then what was; `gone` says why that is not any more."""
    measured = [(lane.testbed, lane.workload) for lane in lanes(farm.workflow.bench_jobs)]
    past = [(*lane, gone(farm, *lane)) for lane in await gone_lanes(farm)]
    return [
        *({"testbed": testbed, "workload": workload} for testbed, workload in measured),
        *({"testbed": bed, "workload": workload, "gone": why} for bed, workload, why in past),
    ]


def as_arrays(series: Series, marks: Sequence[Mark]) -> Json:
    """A series, one entry a revision and epoch.

    Arrays of equal length: positions, labels, means, lows, highs, counts. `bands` are the noise
    bands of the stretches between changes, `marks` the changes, `epochs` where a new one begins.
    """
    points = series.points
    return {
        "unit": series.unit,
        "higher_is_better": KNOWN_METRICS.get(series.unit, PPS).higher_is_better,
        "positions": [point.position for point in points],
        "labels": [point.label for point in points],
        "means": [_shown(point.mean) for point in points],
        "lows": [_shown(point.low) for point in points],
        "highs": [_shown(point.high) for point in points],
        "counts": [point.boots for point in points],
        "bands": [asdict(b) for b in bands(points, (m.position for m in marks), series.noise)],
        "marks": [asdict(mark) for mark in marks],
        "epochs": [
            point.position for before, point in pairwise(points) if before.epoch != point.epoch
        ],
    }


def _shown(value: float) -> float:
    """Whole numbers where a chart cannot show more: a third of the answer would be decimals."""
    return round(value) if abs(value) >= _WHOLE_FROM else value


async def marks_of(farm: Farm, testbed: str, workload: str) -> list[Mark]:
    """The culprits of searches, and the alarms at other commits."""
    searches = await farm.store.searches_over(testbed, workload, -1, 2**31 - 1)
    culprits = {
        mark.position: mark
        for search in reversed(searches)
        if search.state == SearchState.FOUND
        for mark in await culprits_of(farm, search)
    }
    alarms = {}
    for state in _ALARMS:
        for row in await farm.store.comparisons(state):
            if (row.testbed, row.workload) == (testbed, workload):
                alarms[row.new_position] = Mark(
                    kind="alarm",
                    position=row.new_position,
                    label=await _label(farm, row.new_position),
                    effect=row.effect,
                    searchid=row.search_id,
                )
    return sorted((alarms | culprits).values(), key=lambda mark: mark.position)


async def culprits_of(farm: Farm, search: SearchRow) -> list[Mark]:
    """The steps that a search found, in the order of its answer."""
    steps = (search.answer or {}).get("steps", [])
    return [
        Mark(
            kind="culprit",
            position=search.old_position + step["new"],
            label=await _label(farm, search.old_position + step["new"]),
            effect=step["effect"],
            searchid=search.id,
        )
        for step in steps
    ]


async def _label(farm: Farm, position: int) -> str:
    """The name of the revision there; it was measured, else nobody would speak of it."""
    images = await farm.store.images_between(position, position)
    return images[-1].label if images else f"#{position}"
