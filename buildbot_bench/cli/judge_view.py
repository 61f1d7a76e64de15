"""What `bench-judge` says of series, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from buildbot_bench.core.figures import count, percent, sureness
from buildbot_bench.core.judge import Alarm
from buildbot_bench.core.judge.recorded import JudgedSeries


def as_text(judged: Sequence[JudgedSeries]) -> str:
    """A block for each series that has something to tell, and a line for all the others."""
    told = [one for one in judged if one.alarms or one.suspicion or one.unfit]
    quiet = [one for one in judged if one not in told]
    blocks = ["\n".join((heading(one), *(f"  {line}" for line in sentences(one)))) for one in told]
    if len(quiet) == 1:
        blocks.append(f"{heading(quiet[0])}\n  no change")
    elif quiet:
        blocks.append(f"no change in {len(quiet):,} {'other ' if told else ''}series")
    return "\n\n".join(blocks)


def heading(one: JudgedSeries) -> str:
    """The series, its unit and direction, and its span."""
    metric, points = one.series.metric, one.series.points
    better = "higher is better" if metric.higher_is_better else "lower is better"
    unit = f"{metric.unit}, {better}" if metric.unit else better
    span = f"{points[0].label} to {points[-1].label}"
    return f"{one.series.name} ({unit}): {count(len(points), 'revision')}, {span}"


def sentences(one: JudgedSeries) -> list[str]:
    """Each change, what may be one, and why no change can be seen."""
    lines = [_sentence(one, alarm) for _, alarm in one.alarms]
    if doubt := one.suspicion:
        lines.append(
            f"perhaps {_extent(doubt.effect, doubt.low, doubt.high)} since "
            f"{one.series.points[doubt.anchor].label}: later revisions, or more runs of the last "
            "one, would show it"
        )
    return [*lines, f"cannot be judged: {one.unfit}"] if one.unfit else lines


def changes_in_text(one: JudgedSeries) -> list[str]:
    """Each change in a line that names its series."""
    return [f"{one.series.name}: {_sentence(one, alarm)}" for _, alarm in one.alarms]


def _sentence(one: JudgedSeries, alarm: Alarm) -> str:
    points = one.series.points
    first = points[alarm.began].label
    earliest = (
        "" if alarm.first == alarm.began else f", or earlier, from {points[alarm.first].label} on"
    )
    return (
        f"{alarm.direction} {_extent(alarm.effect, alarm.low, alarm.high)}, "
        f"sure to {sureness(alarm.probability)}: the first is {first}{earliest}"
    )


def _extent(effect: float, low: float, high: float) -> str:
    return f"{percent(effect)} ({percent(low)} to {percent(high)})"


def as_json(one: JudgedSeries) -> Mapping[str, Any]:
    """The series and its changes; effects are fractions of the level before."""
    points, metric, doubt = one.series.points, one.series.metric, one.suspicion
    return {
        "name": one.series.name,
        "unit": metric.unit,
        "higher_is_better": metric.higher_is_better,
        "min_effect": one.policy.min_effect,
        "revisions": len(points),
        "oldest": points[0].label,
        "newest": points[-1].label,
        "changes": [
            {
                "direction": alarm.direction,
                "effect": alarm.effect,
                "low": alarm.low,
                "high": alarm.high,
                "probability": alarm.probability,
                "first": points[alarm.began].label,
                "earliest": points[alarm.first].label,
                "before": points[alarm.began - 1].label,
                "seen_at": points[place].label,
            }
            for place, alarm in one.alarms
        ],
        "perhaps": doubt and {"effect": doubt.effect, "low": doubt.low, "high": doubt.high},
        "cannot_be_judged": one.unfit or None,
    }
