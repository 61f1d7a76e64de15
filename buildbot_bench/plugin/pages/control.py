"""A testbed's control chart and quarantine as the Lab page and the metrics show them."""

from __future__ import annotations

from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.health import Point
from buildbot_bench.plugin.controls import ControlState, control_state
from buildbot_bench.plugin.farm import Farm

Json = dict[str, Any]


async def control_view(farm: Farm, testbed: str) -> Json | None:
    """The chart of a testbed's control image; None without one."""
    state = await control_state(farm, testbed)
    if state is None:
        return None
    newest = state.chart.newest
    return {
        "label": state.image.label if state.image else state.control.revision,
        "workload": state.workload,
        "state": _word(state),
        "trouble": await _trouble(farm, state),
        "every_s": state.control.every,
        "asked_at": state.asked[-1].created_at if state.asked else None,
        "last_good_at": state.last_good_s,
        "unit": state.metric.unit,
        "reference": state.chart.reference,
        "deviation": newest.deviation if newest else None,
        "average_limit": state.chart.average_limit,
        "points": [_point(point) for point in state.chart.points],
    }


async def quarantine_view(farm: Farm, testbed: str) -> Json | None:
    """The quarantine that lasts on a testbed, with or without a control image in bench.yml."""
    lasting = await farm.store.quarantines(testbed, open_only=True)
    if not lasting:
        return None
    iterations, images = await farm.store.doubted(lasting[-1])
    return {
        "reason": lasting[-1].reason,
        "begun_at": lasting[-1].begun_at,
        "since": lasting[-1].since_s,
        "iterations": iterations,
        "images": images,
    }


def _word(state: ControlState) -> str:
    if state.quarantine is not None:
        return "quarantined"
    return "in control" if len(state.chart.good) > 1 else "learning"


async def _trouble(farm: Farm, state: ControlState) -> str | None:
    """Why the control image is never measured, if it is not."""
    if state.rounds:
        return None
    try:
        await farm.git(farm.history.resolve, state.control.revision)
    except UsageError as problem:
        return str(problem)
    return state.image.reason if state.image else None


def _point(point: Point) -> Json:
    """One round; its fractions are of the level."""
    return {
        "at": point.round.at_s,
        "values": list(point.round.values),
        "deviation": point.deviation,
        "average": point.average,
        "limit": point.limit,
        "bad": point.signal is not None or point.ill,
        "failure": point.round.failure,
    }
