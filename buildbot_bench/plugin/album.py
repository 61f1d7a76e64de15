"""The pictures of a search's mail: those of its report and, for an alarm, of the whole series."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.threads import deferToThread

from buildbot_bench.core.noise import learn
from buildbot_bench.core.report import Report
from buildbot_bench.core.sample import Sample
from buildbot_bench.plugin.db.rows import SearchRow
from buildbot_bench.plugin.db.states import SearchReason
from buildbot_bench.plugin.evidence import WINDOW_COMMITS, comparable_samples
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.pages.history import marks_of
from buildbot_bench.render.picture import Picture
from buildbot_bench.render.pictures import history_picture, pictures_of
from buildbot_bench.render.plots import HistoryMark, HistoryMarkKind, HistoryPoint

# Of fewer revisions no level is to be seen that the other pictures do not show.
_FEWEST_POINTS = 8


async def pictures(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """All that help to believe a report; may be none."""
    drawn = await deferToThread(pictures_of, report)
    if search.reason != SearchReason.ALARM or report.headline is None:
        return drawn
    return (*drawn, *await _series(farm, search, report))


async def _series(farm: Farm, search: SearchRow, report: Report) -> tuple[Picture, ...]:
    """The series around the step, in the epoch that was measured last, as the judge saw it."""
    samples = comparable_samples(
        await farm.store.samples(
            testbed=search.testbed,
            workload=search.workload,
            first_position=max(0, search.old_position - WINDOW_COMMITS),
            last_position=search.new_position + WINDOW_COMMITS,
            unit=search.unit or None,
            branch=search.branch,
        )
    )
    points = _points(samples)
    if len(points) < _FEWEST_POINTS:
        return ()
    first, last = points[0].position, points[-1].position
    marks = [
        HistoryMark(position=mark.position, kind=HistoryMarkKind(mark.kind), text=mark.label)
        for mark in await marks_of(farm, search.testbed, search.workload)
        if first <= mark.position <= last
    ]
    noise = await deferToThread(learn, samples)
    sigma = (noise.sigma_run**2 / _usual_boots(points) + noise.sigma_build**2) ** 0.5
    return (await deferToThread(history_picture, report, points, marks, sigma),)


def _points(samples: Sequence[Sample]) -> list[HistoryPoint]:
    """Every revision with the values of all its images."""
    values: dict[int, list[float]] = {}
    labels: dict[int, str] = {}
    for sample in samples:
        if sample.values:
            values.setdefault(sample.position, []).extend(sample.values)
            labels[sample.position] = sample.label
    return [
        HistoryPoint(position=position, label=labels[position], values=tuple(of))
        for position, of in sorted(values.items())
    ]


def _usual_boots(points: Sequence[HistoryPoint]) -> float:
    """How many boots a revision usually has."""
    return sum(len(point.values) for point in points) / len(points)
