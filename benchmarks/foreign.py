"""`python -m benchmarks foreign DIR...`: the judge on series that others measured, beside peers.

Each DIR is a checkout of public results, which is read in place: PHP's real-time benchmark data
(github.com/php/real-time-benchmark-data), or what bench-judge reads, such as asv's results. Series
have 100 points or more.

Nobody knows the truth there. What counts as one is a *lasting shift*: the medians of the LOOK
points before and after a place differ by the effect asked for, and no more than STRAY of these
points lie nearer to the other side. It looks from both sides, as no judge can that is to alarm at
once. Nearer together than LOOK there is one shift, the clearest. A change hits a shift within LOOK
points of it, and is *at an end* where no shift can be seen: among LOOK points of the first or last.

Peers are run where they are installed, with their own defaults, on the whole series at once:
apache-otava (p .001), signal-processing-algorithms (E-divisive, p .05), jumpavg, ruptures
(PELT with the BIC's penalty), asv's step detection.
"""

import argparse
import csv
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import fmean, median

from benchmarks.progress import counted
from buildbot_bench.archives.series import read_series
from buildbot_bench.core.judge.model import Alarm, JudgePolicy
from buildbot_bench.core.judge.recorded import Recorded, RecordedPoint, judge_recorded
from buildbot_bench.core.metric import Metric

OURS = "bench-judge"
LOOK = 12
LEAST = 100
STRAY = 2
EFFECTS = (0.02, 0.01)
_ENGINES = {"PHP - master": "", "PHP - master (JIT)": " (JIT)"}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a way says of a series: places of changes, how many points later, and what it took."""

    way: str
    series: str
    places: tuple[int, ...]
    delays: tuple[int, ...] = ()
    small: int = 0
    cpu_s: float = 0.0


def php(root: Path) -> Iterator[Recorded]:
    """A night's medians of the newest commit, of each test, engine and host; seconds."""
    found: dict[str, list[RecordedPoint]] = defaultdict(list)
    for night in sorted(root.glob("20[0-9][0-9]/20*/result.tsv")):
        # 2025_02_11_00_49_21_1_aws_x86_64: when, the night's run, the host.
        host = night.parent.name.split("_", 7)[-1]
        with night.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                engine = _ENGINES.get(row["PHP"])
                value = float(row["Median"])
                if engine is not None and value > 0:
                    name = f"{row['Test name']}{engine} on {host}"
                    label = row["PHP Commit hash"]
                    found[name].append(RecordedPoint(label=label, values=(value,)))
    for name, points in sorted(found.items()):
        metric = Metric(name="time", unit="s", higher_is_better=False)
        yield Recorded(name=name, metric=metric, points=tuple(points))


def lasting(series: Recorded, effect: float) -> list[int]:
    """Places of the points with which a lasting shift begins."""
    y = [math.log(median(point.values)) for point in series.points]
    found: list[tuple[int, float, int]] = []
    for place in range(LOOK, len(y) - LOOK + 1):
        sides = (y[place - LOOK : place], y[place : place + LOOK])
        a, b = map(median, sides)
        stray = sum(abs(x - b) < abs(x - a) for x in sides[0])
        stray += sum(abs(x - a) < abs(x - b) for x in sides[1])
        if abs(b - a) >= math.log1p(effect) and stray <= STRAY:
            # Where equal, the place with the least variance on both sides.
            inside = sum(abs(x - a) for x in sides[0]) + sum(abs(x - b) for x in sides[1])
            found.append((stray, inside, place))
    chosen: list[int] = []
    for _, _, place in sorted(found):
        if all(abs(place - other) >= LOOK for other in chosen):
            chosen.append(place)
    return sorted(chosen)


def ours(series: Recorded, effect: float) -> Seen:
    """The judge's alarms, one point after the other."""
    began = time.process_time()
    policy = JudgePolicy(min_effect=effect)
    alarms = [
        (one.last, one.verdict)
        for _, one in judge_recorded([series], policy)
        if isinstance(one.verdict, Alarm)
    ]
    return Seen(
        way=OURS,
        series=series.name,
        places=tuple(alarm.began for _, alarm in alarms),
        delays=tuple(last - alarm.began for last, alarm in alarms),
        small=sum(abs(alarm.effect) < effect for _, alarm in alarms),
        cpu_s=time.process_time() - began,
    )


def _otava(values: Sequence[float], effect: float) -> list[int]:
    points, _ = import_module("otava.analysis").compute_change_points(
        values, max_pvalue=0.001, min_magnitude=effect
    )
    return [point.index for point in points]


def _e_divisive(values: Sequence[float], _: float) -> list[int]:
    module = import_module("signal_processing_algorithms.energy_statistics.energy_statistics")
    return list(module.e_divisive(values, pvalue=0.05, permutations=100))


def _jumpavg(values: Sequence[float], _: float) -> list[int]:
    groups = import_module("jumpavg").classify(list(values)).group_list
    lengths = [len(group.run_list) for group in groups]
    return [sum(lengths[:number]) for number in range(1, len(lengths))]


def _ruptures(values: Sequence[float], _: float) -> list[int]:
    import numpy as np  # noqa: PLC0415 - as ruptures has it

    logs = np.log(values)
    noise = float(np.median(np.abs(np.diff(logs)))) / 0.954  # of a normal difference
    pelt = import_module("ruptures").Pelt(model="l2", min_size=3, jump=1).fit(logs)
    return list(pelt.predict(pen=2 * noise**2 * math.log(len(logs))))[:-1]


def _asv(values: Sequence[float], _: float) -> list[int]:
    steps = import_module("asv.step_detect").detect_steps(values)
    return [step[0] for step in steps[1:]]


PEERS: Mapping[str, tuple[str, Callable[[Sequence[float], float], list[int]]]] = {
    "apache-otava": ("otava", _otava),
    "E-divisive": ("signal_processing_algorithms", _e_divisive),
    "jumpavg": ("jumpavg", _jumpavg),
    "ruptures": ("ruptures", _ruptures),
    "asv": ("asv", _asv),
}


def by_peer(name: str, series: Recorded, effect: float) -> Seen:
    """What a peer says of the whole series; changes below the effect it does not report."""
    values = [median(point.values) for point in series.points]
    began = time.process_time()
    places = sorted(int(place) for place in PEERS[name][1](values, effect))
    cpu_s = time.process_time() - began
    ends = [0, *places, len(values)]
    kept = [
        place
        for before, place, after in zip(ends, places, ends[2:], strict=False)
        if abs(math.log(median(values[place:after]) / median(values[before:place])))
        >= math.log1p(effect)
    ]
    return Seen(way=name, series=series.name, places=tuple(kept), cpu_s=cpu_s)


def hits(places: Sequence[int], shifts: Sequence[int]) -> int:
    """How many of `shifts` lie near one of `places`."""
    return sum(any(abs(place - shift) < LOOK for place in places) for shift in shifts)


def _is_there(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _table(effect: float, all_series: Sequence[Recorded], seen: Sequence[Seen]) -> Iterator[str]:
    shifts = {one.name: lasting(one, effect) for one in all_series}
    total = sum(map(len, shifts.values()))
    points = {one.name: len(one.points) for one in all_series}
    what = f"{len(points)} series, {sum(points.values())} points, {total} lasting shifts"
    yield f"changes of {effect:.0%} or more: {what}"
    yield ""
    yield "| way | alarms | hits | at an end | other | below the effect | points later | CPU s |"
    yield "|---|---|---|---|---|---|---|---|"
    for way in dict.fromkeys(one.way for one in seen):
        own = [one for one in seen if one.way == way]
        alarms = sum(len(one.places) for one in own)
        found = sum(hits(one.places, shifts[one.series]) for one in own)
        strays = [
            (place, points[one.series])
            for one in own
            for place in one.places
            if not hits(shifts[one.series], [place])
        ]
        at_ends = sum(not LOOK <= place <= length - LOOK for place, length in strays)
        delays = [delay for one in own for delay in one.delays]
        later = f"{fmean(delays):.1f}" if delays else "-"
        small = sum(one.small for one in own)
        cpu = sum(one.cpu_s for one in own)
        other = len(strays) - at_ends
        cells = (way, alarms, f"{found} of {total}", at_ends, other, small, later, f"{cpu:.0f}")
        yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    for one in seen:
        if one.way == OURS and (shifts[one.series] or one.places):
            yield f"{one.series}: shifts at {shifts[one.series]}, alarms at {list(one.places)}"


def main(argv: Sequence[str] | None = None) -> int:
    """Judge, and print a table for each effect."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks foreign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directories", nargs="+", metavar="DIR", type=Path)
    parser.add_argument("--effect", type=float, action="append", help="fractions; .02 and .01")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    options = parser.parse_args(argv)
    found: list[Recorded] = []
    for root in options.directories:
        own = list(php(root)) if list(root.glob("20*/database.tsv")) else None
        found += own if own is not None else read_series([str(root)], [], None)
    found = [one for one in found if len(one.points) >= LEAST]
    ways = [name for name, (module, _) in PEERS.items() if _is_there(module)]
    with ProcessPoolExecutor(options.processes) as pool:
        for effect in options.effect or EFFECTS:
            seen = list(
                counted(pool.map(partial(ours, effect=effect), found), len(found), "series")
            )
            for name in ways:
                seen += pool.map(partial(by_peer, name, effect=effect), found)
            print("\n".join(_table(effect, found, seen)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
