"""The pictures that a report's mail carries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from buildbot_bench.core.report import ImageValues, Level, Report, StepReport
from buildbot_bench.core.report.words import count, quantity
from buildbot_bench.render.html import ReportFragment, report_fragment
from buildbot_bench.render.mime import Picture
from buildbot_bench.render.plots import (
    BoxGroup,
    HistoryMark,
    HistoryPoint,
    distribution,
    history,
    posterior,
)

# More boxes than this are no longer told apart at a mail's width.
_MOST_GROUPS = 12
# A course of fewer measurements tells nothing that the log does not.
_FEWEST_STAGES = 4


def pictures_of(report: Report) -> tuple[Picture, ...]:
    """How the values next to the step are spread, and how the search came there; may be none."""
    step = report.headline
    if step is None or not report.measured:
        return ()
    found = [_distribution(report, step)]
    if len(report.stages) >= _FEWEST_STAGES:
        found.append(_posterior(report, step))
    return tuple(found)


def illustrated_fragment(report: Report) -> ReportFragment:
    """The report as a part of a page, with its pictures."""
    return report_fragment(report, pictures_of(report))


def history_picture(
    report: Report, points: Sequence[HistoryPoint], marks: Sequence[HistoryMark], sigma: float
) -> Picture:
    """The series in which a report's step lies; `points` and `sigma` are those of `history`."""
    setting = report.setting
    title = f"{setting.workload} on {setting.testbed} over {len(points)} revisions"
    caption = ", ".join(f"{mark.kind.value} {mark.text}" for mark in marks) or "nothing marked"
    return Picture(
        name="history.png",
        png=history(points, setting.metric, title=title, sigma=sigma, marks=marks),
        alternative=f"{title}, {points[0].label} to {points[-1].label}: {caption}",
    )


def _distribution(report: Report, step: StepReport) -> Picture:
    setting = report.setting
    groups = [
        BoxGroup(
            label=one.label if not one.image else f"{one.label}/{one.image}",
            values=one.values,
            side="" if one.level is Level.OTHER else one.level.value,
        )
        for one in _nearest(report, step)
    ]
    title = f"{setting.workload} on {setting.testbed}: {setting.item.iteration}s of each revision"
    caption = "; ".join(
        f"{group.label} median {quantity(median(group.values))}" for group in groups
    )
    return Picture(
        name="distribution.png",
        png=distribution(groups, setting.metric, title=title),
        alternative=f"{title}, in {setting.metric.unit}: {caption}",
    )


def _posterior(report: Report, step: StepReport) -> Picture:
    title = f"The search of {report.old.label} to {report.new.label}"
    first = report.old.position
    sure = [step.new, *(other.new for other in report.other_steps if other.sure)]
    last = report.stages[-1]
    return Picture(
        name="search.png",
        png=posterior(
            report.stages,
            report.commits,
            title=title,
            ends=(report.old.label, report.new.label),
            culprits={new.position - first: new.label for new in sure},
        ),
        alternative=(
            f"{title}: {count(len(report.stages), 'measurement')} left "
            f"{count(last.left, 'commit')} of {report.commits} under suspicion"
        ),
    )


def _nearest(report: Report, step: StepReport) -> list[ImageValues]:
    """The images nearest to the step, in the order of the range."""
    middle = (step.old.position + step.new.position) / 2 - report.old.position
    ranked = sorted(report.measured, key=lambda one: abs(one.position - middle))
    return sorted(ranked[:_MOST_GROUPS], key=lambda one: (one.position, one.image))
