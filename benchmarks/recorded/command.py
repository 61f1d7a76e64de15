"""`python -m benchmarks recorded`: searches of --local on runs recorded on a busy machine.

The runs are those of `work.c`, one after another: what lies beside what keeps lying there, and so
do the spells in which the machine was slower. Half of the searches have nothing to find, half a
commit that makes the program slower. The constants of the search were not chosen by these runs.
`--file` reads another recording, `--synthetic` makes one whose neighbours correlate; `--cut` draws
the longest runs in, to see what a heavy tail costs.
"""

import argparse
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import exp
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.progress import counted, keep
from benchmarks.recorded.record import RECORDING, Recording, read
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, plan
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.lab.command.settings import CPU, USER, WALL, CommandWorkload
from buildbot_bench.lab.command.value import time_of
from buildbot_bench.local.campaign import Campaign, LocalSearch
from buildbot_bench.local.known import known_of
from buildbot_bench.local.recipe import BuildRecipe
from buildbot_bench.local.store import StoredBuild, StoredRun

SEARCHES, QUICK = 80, 16
COMMITS = 64
EFFECT = 0.06
PATIENCE = 2000
"""Runs after which --local itself gives a search up."""
MOST_WRONG, LEAST_ENDED = 0.025, 0.95  # of all: 2 and 76 of 80
VALUES = (CPU, WALL, USER)
CUT = 0.95
SYNTHETIC = 2400
_LENGTH_S, _SPREAD = 0.06, 0.05
_TAIL_SHARE, _TAIL = 0.05, 4.0  # of all runs; their mean in standard deviations


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A search on recorded values: `wrong` names what is not there, or misses what is."""

    runs: int
    ended: bool
    wrong: bool


def searched(
    value: str,
    number: int,
    *,
    of: int,
    patience: int = PATIENCE,
    recorded: Sequence[RunTimes] | None = None,
) -> Replayed:
    """Search as --local does, beginning at a place of the recording of its own."""
    recorded = recorded or read().runs
    feed = _from(recorded, number * len(recorded) // of)
    culprit = random.Random(number).randint(1, COMMITS) if number % 2 else None
    return replayed(
        value,
        feed,
        lambda slower, times: slower * time_of(value, times),
        culprit=culprit,
        effect=EFFECT,
        patience=patience,
    )


def replayed(
    value: str,
    feed: Iterator[tuple[float, RunTimes]],
    read_value: Callable[[float, RunTimes], float],
    *,
    culprit: int | None,
    effect: float,
    patience: int,
) -> Replayed:
    """Search as --local does; `read_value` is given how many times slower a run is, and `feed`'s.

    `feed` yields when each run ends and what the clocks say of it.
    """
    search = _search(value)
    builds: dict[int, StoredBuild] = {}
    runs: list[StoredRun] = []
    while True:
        known = known_of(search, list(builds.values()), runs, is_there=lambda _: True)
        decision = plan(known.between.n, known.evidence, known.costs, known.policy)
        if isinstance(decision, Answer):
            steps = {(step.old, step.new) for step in decision.steps}
            planted = set() if culprit is None else {(culprit - 1, culprit)}
            return Replayed(
                runs=len(runs),
                ended=not decision.unresolved,
                wrong=not steps <= planted or (steps != planted and not decision.unresolved),
            )
        if len(runs) >= patience:
            return Replayed(runs=len(runs), ended=False, wrong=False)
        at_s, times = next(feed)
        slower = 1 + effect if culprit is not None and decision.position >= culprit else 1.0
        build = builds.setdefault(decision.position, _build(search, decision.position))
        runs.append(
            StoredRun(
                id=len(runs) + 1,
                image_id=build.id,
                unit="s",
                value=read_value(slower, times),
                at_s=at_s,
                duration_s=times.wall_s,
                times=times,
            )
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Search by each value, and print what came of it; 1 if `cpu` missed what is wanted."""
    parser = argparse.ArgumentParser(prog="benchmarks recorded", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} searches")
    parser.add_argument("--replicates", type=int, metavar="N", help=f"searches ({SEARCHES})")
    parser.add_argument("--values", default=" ".join(VALUES), help="as 'cpu wall'")
    parser.add_argument("--patience", type=int, default=PATIENCE, help="runs of a search at most")
    parser.add_argument("--file", type=Path, default=RECORDING, help="what `record.py` wrote")
    parser.add_argument("--synthetic", type=float, metavar="RHO", help="runs that correlate by it")
    parser.add_argument("--seed", type=int, default=0, help="of the synthetic runs")
    parser.add_argument("--cut", action="store_true", help=f"runs above {CUT:.0%} count as that")
    options = parser.parse_args(argv)
    count = options.replicates or (QUICK if options.quick else SEARCHES)
    recording = read(options.file)
    if options.synthetic is not None:
        recording = synthetic(options.synthetic, seed=options.seed)
    if options.cut:
        recording = replace(recording, runs=without_tail(recording.runs))
    print(f"{len(recording.runs)} runs of {options.file.name}: {recording.about}")
    loads = recording.loads
    print(f"the load average was {min(loads)} to {max(loads)}, {fmean(loads):.1f} on average\n")
    print("value   median     sd   searches  wrong  ended   runs ± se, nothing there  with 6 %")
    is_kept = True
    figures: dict[str, list[dict[str, Any]]] = {}
    with ProcessPoolExecutor() as pool:
        for value in options.values.split():
            one = partial(
                searched,
                value,
                of=count,
                patience=options.patience,
                recorded=recording.runs,
            )
            found = list(counted(pool.map(one, range(count)), count, "search"))
            figures[value] = [asdict(one) for one in found]
            _line(value, [time_of(value, run) for run in recording.runs], found)
            if value == CPU and options.file == RECORDING:
                is_kept = _wanted(found)
    keep("recorded", figures)
    return 0 if is_kept else 1


def synthetic(rho: float, *, seed: int) -> Recording:
    """Runs of 60 ms whose neighbours in time correlate by `rho`; one in twenty is far longer."""
    rng = random.Random(f"{rho} {seed}")
    spell, runs = 0.0, []
    for _ in range(SYNTHETIC):
        spell = rho * spell + (1 - rho**2) ** 0.5 * rng.gauss(0, 1)
        tail = rng.expovariate(1 / _TAIL) if rng.random() < _TAIL_SHARE else 0.0
        length_s = _LENGTH_S * exp(_SPREAD * (spell + tail))
        runs.append(RunTimes(wall_s=length_s, user_s=length_s, system_s=0.0))
    about: dict[str, object] = {"synthetic": rho, "seed": seed}
    return Recording(about=about, loads=(0.0,), runs=tuple(runs))


def without_tail(runs: Sequence[RunTimes]) -> tuple[RunTimes, ...]:
    """The same runs, each time no longer than that of the longest but one in twenty."""
    most = {
        clock: sorted(getattr(run, clock) for run in runs)[int(CUT * len(runs))]
        for clock in ("wall_s", "user_s", "system_s")
    }
    return tuple(
        replace(run, **{clock: min(getattr(run, clock), most[clock]) for clock in most})
        for run in runs
    )


def _line(value: str, times: Sequence[float], found: Sequence[Replayed]) -> None:
    length = sorted(times)[len(times) // 2]
    spread = stdev(times) / fmean(times)
    wrong, ended = sum(one.wrong for one in found), sum(one.ended for one in found)
    print(
        f"{value:6s} {1000 * length:5.1f} ms {spread:6.1%} {len(found):8d} {wrong:8d} {ended:6d}"
        f"   {mean_runs(found[::2]):>24s}  {mean_runs(found[1::2])}"
    )


def mean_runs(found: Sequence[Replayed]) -> str:
    """The mean of the runs of some searches, with its standard error."""
    runs = [one.runs for one in found]
    error = stdev(runs) / len(runs) ** 0.5 if len(runs) > 1 else 0.0
    return f"{fmean(runs):.1f} ± {error:.1f}" if runs else "none"


def _wanted(found: Sequence[Replayed]) -> bool:
    """Print what is wanted of `cpu`, and return whether it was reached."""
    wrong, ended = sum(one.wrong for one in found), sum(one.ended for one in found)
    most, least = round(MOST_WRONG * len(found)), round(LEAST_ENDED * len(found))
    print(f"  wanted: wrong ≤ {most}: {wrong}; ended ≥ {least}: {ended}")
    return wrong <= most and ended >= least


def _from(recorded: Sequence[RunTimes], begin: int) -> Iterator[tuple[float, RunTimes]]:
    """The runs from one on, and over again, each with the time at which it ended."""
    now_s = 0.0
    place = begin
    while True:
        times = recorded[place % len(recorded)]
        now_s += times.wall_s
        place += 1
        yield now_s, times


def _search(value: str) -> LocalSearch:
    revisions = tuple(
        Revision(sha=f"{place:040x}", position=place, subject=f"Change {place}")
        for place in range(COMMITS + 1)
    )
    return LocalSearch(
        campaign=Campaign(
            recipe=BuildRecipe(),
            workload=CommandWorkload(run="./work", value=value),
            name="work",
        ),
        between=RevisionRange(revisions=revisions),
        terms=SearchPolicy(error=0.01, min_effect=0.02),
    )


def _build(search: LocalSearch, place: int) -> StoredBuild:
    return StoredBuild(
        id=place + 1,
        recipe=search.campaign.recipe.digest,
        sha=search.between.revisions[place].sha,
        ordinal=0,
        place="tree",
        build_s=0.0,
        kernel=f"{place:x}",
        is_kept=True,
    )


if __name__ == "__main__":
    sys.exit(main())
