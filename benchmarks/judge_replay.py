"""The judge and other rules, replayed on recorded series of weekly builds.

Nothing is used that was measured after a decision. Each build is screened with all its recorded
iterations (the archive's way: five boots of each). What the judge asks for again is answered with
the recorded iterations once more, as nothing else exists: that satisfies its protocol and tells it
nothing new. So `fresh` is 4, or what the usual number of boots leaves after the first, and there
are no second images. The noise is learnt from the builds before, each counted once.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Settled, Suspicion, settled_by
from buildbot_bench.core.ministat import compare
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.sample import Iteration, Sample

SERIES = Path(__file__).parent.parent / "tests" / "data" / "series" / "series.jsonl.gz"
WEEK_S = 7 * 86400.0
BOOT_S = 120.0
PERSISTENT_PERCENT, PERSISTENT_Z = 4.0, 6.0
NEAR = 1  # an alarm one build beside the recorded place is about the same change


@dataclass(frozen=True, kw_only=True)
class Build:
    """One recorded build: its name, its commit, and the values of its iterations."""

    label: str
    position: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A persistent change that is known in hindsight: the first build at the new level."""

    at: int
    effect: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """A year of one DUT and workload."""

    name: str
    builds: tuple[Build, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True)
class Call:
    """An alarm: the build at which it came, and the first and last that may have changed."""

    build: int
    first: int
    effect: float


def read_series(path: Path = SERIES) -> list[Series]:
    """The year series of a file like tests/data/series/series.jsonl.gz."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in text.splitlines()]
    return [_series(row) for row in rows if row.get("kind") == "weekly-year"]


def _series(row: dict[str, Any]) -> Series:
    builds = tuple(
        Build(
            label=point["revision"],
            position=int(point["revision"].lstrip("rn")),
            values=tuple(map(float, point["pps"])),
        )
        for point in row["points"]
    )
    numbers = {build.label: number for number, build in enumerate(builds)}
    return Series(
        name=f"{row['dut']} {row['workload']} {row['label']}",
        builds=builds,
        changes=tuple(
            Change(at=numbers[change["at"]], effect=change["level_change_pct"] / 100)
            for change in row.get("change_points", ())
            if abs(change["level_change_pct"]) >= PERSISTENT_PERCENT and change["z"] >= PERSISTENT_Z
        ),
    )


def replay(series: Series, policy: JudgePolicy) -> list[Call]:
    """Let the judge see a series build by build."""
    usual = int(median(len(build.values) for build in series.builds))
    policy = replace(policy, fresh=max(min(policy.fresh, usual) - 1, 1), images=False)
    samples: list[Sample] = []
    settled: list[Settled] = []
    calls = []
    for number, build in enumerate(series.builds):
        noise = learn([_sample(known, 0.0) for known in series.builds[:number]])
        now_s = (number + 1) * WEEK_S
        samples.append(_sample(build, now_s))
        verdict = judge(samples[:-1], samples[-1], noise, policy, settled)
        while isinstance(verdict, Suspicion):
            now_s += 100 * BOOT_S
            asked = [request for request in verdict.remeasure if request.position < build.position]
            if not asked:
                break  # more boots of the build itself: there are none
            for request in asked:
                _answer(samples, request.position, request.iterations, now_s)
            verdict = judge(samples[:-1], samples[-1], noise, policy, settled)
        if one := settled_by(verdict, build.position, policy.min_effect):
            settled.append(one)
        if isinstance(verdict, Alarm):
            first = next(n for n, b in enumerate(series.builds) if b.position >= verdict.first)
            calls.append(Call(build=number, first=first, effect=verdict.effect))
    return calls


def _sample(build: Build, at_s: float) -> Sample:
    """A build's recorded iterations, one after the other; without clock times when at_s is 0."""
    iterations = tuple(
        Iteration(value=value, at_s=at_s and at_s + n * BOOT_S)
        for n, value in enumerate(build.values)
    )
    return Sample(label=build.label, position=build.position, iterations=iterations)


def _answer(samples: list[Sample], position: int, boots: int, at_s: float) -> None:
    number = next(n for n, sample in enumerate(samples) if sample.position == position)
    again = islice(cycle(samples[number].values), boots)
    late = tuple(Iteration(value=value, at_s=at_s + n * BOOT_S) for n, value in enumerate(again))
    samples[number] = replace(samples[number], iterations=samples[number].iterations + late)


def neighbours(
    series: Series, differs: Callable[[Sequence[float], Sequence[float]], bool]
) -> list[Call]:
    """The alarms of a rule that looks at two neighbouring builds."""
    calls = []
    for number in range(1, len(series.builds)):
        old, new = (series.builds[n].values for n in (number - 1, number))
        if differs(old, new):
            effect = sum(new) / len(new) / (sum(old) / len(old)) - 1
            calls.append(Call(build=number, first=number, effect=effect))
    return calls


def student(old: Sequence[float], new: Sequence[float]) -> bool:
    """Student's t at 95 %, as the archive judged."""
    return compare(old, new).significant


def student_with_floor(old: Sequence[float], new: Sequence[float]) -> bool:
    """The same, for differences of 3 % or more."""
    comparison = compare(old, new)
    return comparison.significant and abs(comparison.difference_percent) >= 3


def found(series: Series, calls: Sequence[Call], *, near: int = NEAR) -> int:
    """How many of the persistent changes an alarm of the right sign is about."""
    return sum(
        any(
            (call.first <= change.at <= call.build or abs(call.build - change.at) <= near)
            and (call.effect > 0) is (change.effect > 0)
            for call in calls
        )
        for change in series.changes
    )
