"""The forecast of a search's cost, as REST shows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from buildbot_bench.api.searches import ForecastShown, ForecastSpread, RangeShown
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search import Forecast, forecast
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import LONG_S, calculate, known
from buildbot_bench.plugin.queries.evidence import SearchInputs, gather
from buildbot_bench.plugin.queries.history import revision_shown

Json = dict[str, Any]


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
