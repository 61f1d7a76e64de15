"""The run of `bench-judge`: series are read and judged, now or as a file grows, and reported."""

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from buildbot_bench.archives.series import read_series
from buildbot_bench.cli.console import ExitStatus, Waiting, answer, say
from buildbot_bench.cli.outcomes import check_page, write_text
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count, percent, sureness
from buildbot_bench.core.judge.model import Alarm, JudgePolicy
from buildbot_bench.core.judge.recorded import Judged, JudgedSeries, Recorded, final, judge_recorded

_MOST_JUDGED = 200_000
"""Of all series together. Measured: a judgement takes 10 to 25 ms, so these take an hour."""


def run(options: argparse.Namespace) -> int:
    """Print the answer and return the status; with --follow whenever there is a new one."""
    if options.html:
        check_page(options.html)
    if options.follow and (not options.paths or "-" in options.paths):
        raise UsageError(
            "--follow takes a file or a directory", hint="as in bench-judge --follow x.csv"
        )
    judged = _judged(options, ())
    _tell(options, as_text(judged), judged)
    while options.follow and not _fails(options, judged):
        before = _stamps(options.paths)
        while _stamps(options.paths) == before:
            time.sleep(options.poll)
        earlier, judged = judged, _judged(options, judged)
        known = {line for one in earlier for line in changes_in_text(one)}
        if new := [line for one in judged for line in changes_in_text(one) if line not in known]:
            _tell(options, "\n".join(new), judged)
    return _status(options, judged)


def _judged(
    options: argparse.Namespace, earlier: Sequence[JudgedSeries]
) -> tuple[JudgedSeries, ...]:
    better = True if options.higher_is_better else False if options.lower_is_better else None
    found = read_series(options.paths, options.metric, better)
    if options.last:
        found = [replace(one, points=one.points[-options.last :]) for one in found]
    if sum(len(one.points) for one in found) > _MOST_JUDGED:
        raise UsageError(
            f"{len(found):,} series have more than {_MOST_JUDGED:,} revisions",
            hint="choose with --metric NAME, or --last N",
        )
    policy = JudgePolicy(min_effect=options.min_effect, series=len(found))
    known = {one.series.name: one for one in earlier}
    kept = {number: _kept(one, policy, known.get(one.name)) for number, one in enumerate(found)}
    verdicts: list[list[Judged]] = [[] for _ in found]
    total = sum(len(one.points) for one in found)
    done = 0
    with Waiting() as tell:
        for number, judged in judge_recorded(found, policy, kept):
            verdicts[number].append(judged)
            done += 1
            tell(f"judging: {done:,} of {total:,} values, {found[number].name}")
    return tuple(
        JudgedSeries(series=one, policy=policy, verdicts=tuple(its))
        for one, its in zip(found, verdicts, strict=True)
    )


def _kept(series: Recorded, policy: JudgePolicy, known: JudgedSeries | None) -> Sequence[Judged]:
    if known and known.policy == policy:
        length = len(known.series.points)
        if series.points[:length] == known.series.points:
            return final(known.verdicts, length)
    return ()


def _tell(options: argparse.Namespace, text: str, judged: Sequence[JudgedSeries]) -> None:
    told = {"status": int(_status(options, judged)), "series": [as_json(one) for one in judged]}
    if options.json and options.follow:
        print(json.dumps(told), flush=True)
    else:
        answer(text, told, as_json=options.json)
    if options.html:
        # It needs matplotlib, and a text alone does not.
        from buildbot_bench.render.html import judged_page  # noqa: PLC0415

        write_text(options.html, judged_page(judged, heading, sentences, sharing(judged)))
        say(f"{options.html} is written")


def _fails(options: argparse.Namespace, judged: Sequence[JudgedSeries]) -> bool:
    wanted = {"regression": {"regression"}, "change": {"regression", "improvement"}}
    directions = wanted.get(options.fail_on, set())
    return any(alarm.direction in directions for one in judged for _, alarm in one.alarms)


def _status(options: argparse.Namespace, judged: Sequence[JudgedSeries]) -> ExitStatus:
    if options.fail_on:
        fails = _fails(options, judged)
        return ExitStatus.NO_DIFFERENCE if fails else ExitStatus.ANSWERED
    if any(one.alarms for one in judged):
        return ExitStatus.ANSWERED
    unsure = any(one.suspicion or one.unfit for one in judged)
    return ExitStatus.INCONCLUSIVE if unsure else ExitStatus.NO_DIFFERENCE


def _stamps(paths: Sequence[str]) -> list[tuple[str, int, int]]:
    files = [
        Path(top, name)
        for path in paths
        for top, _, names in (os.walk(path) if Path(path).is_dir() else [(path, [], [""])])
        for name in names
    ]
    stats = [(str(path), path.stat()) for path in files if path.exists()]
    return sorted((name, one.st_size, one.st_mtime_ns) for name, one in stats)


def as_text(judged: Sequence[JudgedSeries]) -> str:
    """A block for each series that has something to tell, and a line for all the others."""
    told = [one for one in judged if one.alarms or one.suspicion or one.unfit]
    quiet = [one for one in judged if one not in told]
    blocks = ["\n".join((heading(one), *(f"  {line}" for line in sentences(one)))) for one in told]
    if len(quiet) == 1:
        blocks.append(f"{heading(quiet[0])}\n  no change")
    elif quiet:
        blocks.append(f"no change in {len(quiet):,} {'other ' if told else ''}series")
    if shared := sharing(judged):
        blocks.append(shared)
    return "\n\n".join(blocks)


def sharing(judged: Sequence[JudgedSeries]) -> str:
    """How many series share the budget of false alarms; empty for one."""
    if len(judged) <= 1:
        return ""
    return f"{len(judged):,} series share one false alarm in 1,000 revisions"


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
