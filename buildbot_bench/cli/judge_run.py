"""The run of `bench-judge`: series are read and judged, once or whenever a file grows."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from buildbot_bench.cli.console import ExitStatus, Waiting, answer, say
from buildbot_bench.cli.judge_input import read_series
from buildbot_bench.cli.judge_view import as_json, as_text, changes_in_text, heading, sentences
from buildbot_bench.cli.local_page import check_page, write_text
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.judge import JudgePolicy
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
        _wait_for_more(options)
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
    made = []
    with Waiting() as tell:
        for number, series in enumerate(found, 1):
            tell(f"judging: {number} of {len(found)}, {series.name}")
            made.append(_one(series, policy, known.get(series.name)))
    return tuple(made)


def _one(series: Recorded, policy: JudgePolicy, known: JudgedSeries | None) -> JudgedSeries:
    """A series judged; verdicts that its growth does not touch are kept."""
    kept: Sequence[Judged] = ()
    if known and known.policy == policy:
        length = len(known.series.points)
        if series.points[:length] == known.series.points:
            kept = final(known.verdicts, length)
    verdicts = (*kept, *judge_recorded(series, policy, kept))
    return JudgedSeries(series=series, policy=policy, verdicts=verdicts)


def _tell(options: argparse.Namespace, text: str, judged: Sequence[JudgedSeries]) -> None:
    told = {"status": int(_status(options, judged)), "series": [as_json(one) for one in judged]}
    if options.json and options.follow:
        print(json.dumps(told), flush=True)
    else:
        answer(text, told, as_json=options.json)
    if options.html:
        # It needs matplotlib, and a text alone does not.
        from buildbot_bench.render.judged_page import judged_page  # noqa: PLC0415

        write_text(options.html, judged_page(judged, heading, sentences))
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


def _wait_for_more(options: argparse.Namespace) -> None:
    """Wait until a file is larger or newer, or there is another one."""
    before = _stamps(options.paths)
    while _stamps(options.paths) == before:
        time.sleep(options.poll)


def _stamps(paths: Sequence[str]) -> list[tuple[str, int, int]]:
    files = [
        Path(top, name)
        for path in paths
        for top, _, names in (os.walk(path) if Path(path).is_dir() else [(path, [], [""])])
        for name in names
    ]
    stats = [(str(path), path.stat()) for path in files if path.exists()]
    return sorted((name, one.st_size, one.st_mtime_ns) for name, one in stats)
