"""A series' history in compact arrays for a chart, with noise bands and marks."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import hypot
from operator import attrgetter
from statistics import median

from twisted.internet.threads import deferToThread

from buildbot_bench.api.answers import RevisionShown, SearchState
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.json_model import Json, shared, to_json
from buildbot_bench.core.judge.together import deviations
from buildbot_bench.core.metric import BOOT
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.revision import Revision, repository_of
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.core.search import Step
from buildbot_bench.plugin.db.columns import ALARMS, MarkKind
from buildbot_bench.plugin.db.commits import is_on
from buildbot_bench.plugin.db.finding_rows import MarkRow, SearchRow
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import (
    Series,
    all_series,
    known_branches,
    removal_reason,
    removed_series,
    repository_removal_reason,
    watched_branches,
)
from buildbot_bench.plugin.queries.incidents import step_within


def revision_json(revision: Revision) -> Json:
    """A revision as the REST interface shows it."""
    return to_json(revision_shown(revision))


def revision_shown(revision: Revision) -> RevisionShown:
    """A revision as one end of a range."""
    return RevisionShown(**shared(RevisionShown, revision))


# So many revisions teach the noise well enough; all of a long history would cost seconds.
_NOISE_FROM = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesPoints:
    """The points of the unit that was measured last, by position, and the noise as it is known.

    What is not judged has no noise.
    """

    points: tuple[PointRow, ...]
    noise: Noise | None = None
    metric: Metric = PPS

    @property
    def unit(self) -> str:
        """The unit of all points."""
        return self.metric.unit


async def read_series(
    farm: Farm,
    series: SeriesName,
    branch: str,
    *,
    value: str = "",
) -> SeriesPoints:
    """The series on a branch as it is now; one without points when there is none of that name.

    A `value` is the name of one of many values of its runs.
    """
    rows = await farm.store.points(series, branch, value or None)
    points = await deferToThread(_in_newest_unit, rows)
    recent = [point.position for point in points[-_NOISE_FROM:]]
    noise = await _noise(farm, series, branch, recent, value=value)
    metric = PPS
    if points:
        unit = value or points[0].unit
        metric = await farm.store.metric_of(series, unit)
    return SeriesPoints(points=points, noise=noise, metric=metric)


async def read_costs(farm: Farm, series: SeriesName, branch: str, metric: Metric) -> SeriesPoints:
    """What the commits of a branch cost in one of COSTS: their boots there, or their builds."""
    if metric is BOOT:
        rows = await farm.store.points(series, branch, metric.unit)
    else:
        rows = await farm.store.points_of_builds(branch, metric.unit)
    return SeriesPoints(points=tuple(rows), metric=metric)


def _in_newest_unit(rows: Sequence[PointRow]) -> tuple[PointRow, ...]:
    last = max(rows, key=attrgetter("last_at_s"), default=None)
    return tuple([row for row in rows if last and row.unit == last.unit])


async def noise_without(
    farm: Farm, series: SeriesName, branch: str, without: Collection[int]
) -> Noise | None:
    """What the newest commits of a series tell of boots and layout, but those at some positions.

    None when nothing was measured.
    """
    most = _NOISE_FROM + len(without)
    found = await farm.store.newest_positions(series, branch, most)
    recent = [position for position in reversed(found) if position not in without]
    recent = recent[-_NOISE_FROM:]
    if not recent:
        return None
    return await _noise(farm, series, branch, recent, without=without)


async def _noise(
    farm: Farm,
    series: SeriesName,
    branch: str,
    recent: Sequence[int],
    *,
    without: Collection[int] = (),
    value: str = "",
) -> Noise:
    span = (recent[0], recent[-1]) if recent else (0, 0)
    samples = await farm.store.samples(series, span, unit=value or None, history_of=branch)
    others = [sample for sample in samples if sample.position not in without]
    return await calculate(learn, comparable_samples(others))


# Nineteen of twenty points of an unchanged level lie within two standard deviations of it.
_DEVIATIONS = 2.0
# A stretch of fewer points has no level yet, and one whose points mostly lie elsewhere has several,
# whose changes are not found yet: a band would tell of a calm that there is not.
_FEWEST = 5
_SETTLED = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Band:
    """Between two positions, both included, a point from `low` to `high` is nothing new."""

    first: int
    last: int
    level: float
    low: float
    high: float


def bands(points: Sequence[PointRow], changes: Iterable[int], noise: Noise) -> list[Band]:
    """The noise band of each stretch that is settled between known changes, epochs among them.

    `changes` are the positions of the first commits on a new level. The level of a stretch is
    the median of its points' means; the spread is that of a point with the usual number of boots.
    """
    found = []
    for stretch in _stretches(points, sorted(set(changes))):
        level = median(point.mean for point in stretch)
        boots = median(point.boots for point in stretch)
        spread = _DEVIATIONS * hypot(noise.sigma_build, noise.sigma_run / boots**0.5)
        band = Band(
            first=stretch[0].position,
            last=stretch[-1].position,
            level=level,
            low=level * (1 - spread),
            high=level * (1 + spread),
        )
        inside = sum(band.low <= point.mean <= band.high for point in stretch)
        if len(stretch) >= _FEWEST and inside >= _SETTLED * len(stretch):
            found.append(band)
    return found


def _stretches(points: Sequence[PointRow], changes: Sequence[int]) -> Iterable[list[PointRow]]:
    stretch: list[PointRow] = []
    ahead = list(reversed(changes))
    for point in points:
        changed = bool(stretch) and stretch[-1].epoch != point.epoch
        while ahead and ahead[-1] <= point.position:
            ahead.pop()
            changed = True
        if changed and stretch:
            yield stretch
            stretch = []
        stretch.append(point)
    if stretch:
        yield stretch


_WHOLE_FROM = 10_000.0
_OPINIONS = frozenset({MarkKind.EXPECTED, MarkKind.NOISE, MarkKind.FIXED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A commit that changed the level: found by a search, or an alarm without one.

    `effect` is a fraction of the old level; `searchid` is None for an alarm. `sha` is empty where
    no image gives it. `said` is the last word that a person said of it, and `by` who.
    """

    kind: str
    position: int
    label: str
    effect: float | None
    searchid: int | None
    sha: str = ""
    said: str = ""
    by: str = ""


async def series_list(farm: Farm) -> list[Json]:
    """What is measured where, and then what was; `gone` says why that is not any more.

    Branch by branch, in the file's order, then those that are not watched any more.
    """
    watched = await watched_branches(farm)
    measured = all_series(farm.workflow.bench_jobs)
    past = [(*series, removal_reason(farm, *series)) for series in await removed_series(farm)]
    found = []
    for branch in await known_branches(farm):
        why = repository_removal_reason(farm, repository_of(branch))
        if not why and branch not in watched:
            why = f"branch {branch} is no longer watched"
        there = [(one.testbed, one.workload, "") for one in measured if one.measures(branch)]
        silent = await _series_without(farm, branch, measured)
        there += [(*series, _needed_no_more(farm, branch)) for series in silent]
        found += [
            {"branch": branch, "testbed": one, "workload": of}
            | ({"gone": why or reason} if why or reason else {})
            for one, of, reason in (*there, *past)
        ]
    return found


async def _series_without(
    farm: Farm, branch: str, measured: Sequence[Series]
) -> list[tuple[str, str]]:
    """Of what is measured, that which knows a branch's repository from the past alone."""
    silent = {(one.testbed, one.workload) for one in measured if not one.measures(branch)}
    if not silent:
        return []
    known = await farm.store.measured_series(repository_of(branch))
    return [series for series in known if series in silent]


def _needed_no_more(farm: Farm, branch: str) -> str:
    job = farm.workflow.build_job_of(repository_of(branch)).name
    return f"no job of bench.yml that measures needs {job} any more"


_WINDOW = 2000  # commits, among which these are looked for
_RUNS = 100  # the last runs, which a heat map of a thousand values has room for


async def heat_map(farm: Farm, testbed: str, workload: str, branch: str) -> Json:
    """How far the named values of the last commits lie from their medians; empty without any.

    `cells` has a row for each of `names` with an entry for each of `labels`, in thousandths.
    """
    newest = await farm.store.newest_commit(branch)
    last = newest.position if newest else 0
    named = await farm.store.runs_of_values(
        testbed=testbed,
        workload=workload,
        first_position=max(0, last - _WINDOW),
        last_position=last,
        branch=branch,
        limit=_RUNS,
    )
    if named is None:
        return {"names": [], "better": [], "positions": [], "labels": [], "cells": []}
    images, cells = await calculate(deviations, named)
    return {
        "names": [metric.name for metric in named.metrics],
        "better": [metric.higher_is_better for metric in named.metrics],
        "positions": [image.position for image in images],
        "labels": [image.label for image in images],
        "cells": cells,
    }


def as_arrays(series: SeriesPoints, marks: Sequence[Mark], times: Sequence[int]) -> Json:
    """A series, one entry a revision and epoch.

    Arrays of equal length: positions, labels, times, means, lows, highs, counts. `times` are those
    of the commits, in seconds since the epoch, 0 where there is none. `bands` are the noise
    bands of the stretches between changes, `marks` the changes, `epochs` where a new one begins.
    """
    points, noise = series.points, series.noise
    levels = [] if noise is None else bands(points, (mark.position for mark in marks), noise)
    return {
        "unit": series.unit,
        "higher_is_better": series.metric.higher_is_better,
        "positions": [point.position for point in points],
        "labels": [point.label for point in points],
        "times": list(times),
        "means": [_shown(point.mean) for point in points],
        "lows": [_shown(point.low) for point in points],
        "highs": [_shown(point.high) for point in points],
        "counts": [point.boots for point in points],
        "bands": [asdict(band) for band in levels],
        "marks": [asdict(mark) for mark in marks],
        "epochs": [
            point.position for before, point in pairwise(points) if before.epoch != point.epoch
        ],
    }


def _shown(value: float) -> float:
    """Whole numbers where a chart cannot show more: a third of the answer would be decimals."""
    return round(value) if abs(value) >= _WHOLE_FROM else value


async def marks_of(farm: Farm, series: SeriesName, branch: str, value: str = "") -> list[Mark]:
    """The culprits and the alarms at other commits, on a branch; of a value those of searches."""
    line = await farm.store.line_of(branch)
    searches = await farm.store.searches_over(
        series, -1, 2**31 - 1, repository=repository_of(branch), value=value
    )
    culprits = {
        mark.position: mark
        for search in reversed(searches)
        if search.state == SearchState.FOUND and not search.tunables
        for mark in await culprits_of(farm, search)
        if is_on(line, search.branch, mark.position)
    }
    if value:
        return sorted((await _with_words(farm, culprits, {})), key=lambda mark: mark.position)
    for member in await farm.store.confirmed_incidents(*series):
        search = await farm.store.search(member.search_id)
        step = search and step_within(search, member.on(search.branch))
        if search and step:
            found = replace(step, effect=step.effect if member.effect is None else member.effect)
            (mark,) = await marks_of_steps(farm, search, (found,))
            if is_on(line, search.branch, mark.position):
                culprits[mark.position] = mark
    alarms: dict[int, Mark] = {}
    verdicts: dict[int, int] = {}
    for state in ALARMS:
        for row in await farm.store.judgements(state):
            if (row.testbed, row.workload) != series:
                continue
            if row.branch is None or is_on(line, row.branch, row.new_position):
                verdicts[row.new_position] = row.id
                alarms[row.new_position] = Mark(
                    kind="alarm",
                    position=row.new_position,
                    **await _name(farm, row.branch or branch, row.new_position),
                    effect=row.effect,
                    searchid=row.search_id,
                )
    all_marks = await _with_words(farm, alarms | culprits, verdicts)
    return sorted(all_marks, key=lambda mark: mark.position)


async def _with_words(farm: Farm, marks: dict[int, Mark], verdicts: dict[int, int]) -> list[Mark]:
    """The marks by position, each with the last opinion on its search or its verdict.

    `verdicts` has the ids of those by position.
    """
    opinions = [word for word in await farm.store.newest_marks() if word.kind in _OPINIONS]
    of_search = {word.search_id: word for word in opinions if word.search_id is not None}
    of_verdict = {word.judgement_id: word for word in opinions if word.judgement_id is not None}
    found = []
    for position, mark in marks.items():
        words = [of_search.get(mark.searchid or 0), of_verdict.get(verdicts.get(position, 0))]
        last = max((one for one in words if one), key=lambda one: one.id, default=None)
        found.append(mark if last is None else replace(mark, said=_said(last), by=last.author))
    return found


def _said(word: MarkRow) -> str:
    return f"fixed by {word.fixed_label}" if word.kind is MarkKind.FIXED else str(word.kind)


async def culprits_of(farm: Farm, search: SearchRow) -> list[Mark]:
    """The steps that a search found, in the order of its answer."""
    return await marks_of_steps(farm, search, search.steps)


async def marks_of_steps(farm: Farm, search: SearchRow, steps: Iterable[Step]) -> list[Mark]:
    """Steps of a search, each with the commit that is the first to show it."""
    return [
        Mark(
            kind="culprit",
            position=search.old_position + step.new,
            **await _name(farm, search.branch, search.old_position + step.new),
            effect=step.effect,
            searchid=search.id,
        )
        for step in steps
    ]


async def _name(farm: Farm, branch: str, position: int) -> dict[str, str]:
    """Label and hash of the revision there; it was measured, else nobody would speak of it."""
    images = await farm.store.images_of_history(branch, position, position)
    if not images:
        return {"label": f"#{position}"}
    return {"label": images[-1].label, "sha": images[-1].sha}
