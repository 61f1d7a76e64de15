"""The page of series that `bench-judge` judged, each with its plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from buildbot_bench.core.judge.recorded import JudgedSeries
from buildbot_bench.core.model import learn
from buildbot_bench.core.sample import Iteration, Sample
from buildbot_bench.render.environment import environment
from buildbot_bench.render.html import held
from buildbot_bench.render.mime import Picture
from buildbot_bench.render.plots import HistoryMark, HistoryMarkKind, HistoryPoint, history

_MOST_PLOTS = 100
"""Chosen, not measured: a page that a browser still opens. Series with changes come first."""


def judged_page(
    judged: Sequence[JudgedSeries],
    heading: Callable[[JudgedSeries], str],
    sentences: Callable[[JudgedSeries], list[str]],
) -> str:
    """The whole page; every text in it is escaped, and nothing is loaded from elsewhere."""
    ordered = sorted(judged, key=lambda one: not one.alarms)
    shown = [
        (heading(one), sentences(one) or ["no change"], _plot(one) if n < _MOST_PLOTS else None)
        for n, one in enumerate(ordered)
    ]
    return environment().get_template("judged.html").render(series=shown, source=held)


def _plot(one: JudgedSeries) -> Picture | None:
    """The values over the revisions, a level between two changes; None where no value is."""
    series = one.series
    points = [
        HistoryPoint(position=place, label=point.label, values=point.values)
        for place, point in enumerate(series.points)
    ]
    marks = [
        HistoryMark(
            position=alarm.began, kind=HistoryMarkKind.CULPRIT, text=f"{100 * alarm.effect:+.1f} %"
        )
        for _, alarm in one.alarms
    ]
    if not points:
        return None
    noise = learn(
        [
            Sample(
                label=point.label,
                position=point.position,
                metric=series.metric,
                iterations=tuple(Iteration(value=value) for value in point.values),
            )
            for point in points
        ]
    )
    metric = replace(series.metric, name=series.name[:40])
    return Picture(
        name="series.png",
        png=history(points, metric, title=series.name, sigma=noise.sigma_build, marks=marks),
        alternative=f"{series.name}: {len(points)} revisions, {len(marks)} changes",
    )
