"""`python -m benchmarks comparisons`: count the changes that comparisons find, and their cost.

Recorded: neighbouring builds of an APU2 in 2016, with five boots of one image each, as if somebody
compared them; known changes are left out. Simulated: comparisons of nothing, of -9 % and of +3 %
where images of one code vary by 1.6 % and boots as that APU2's. Results go to
benchmarks/out/comparisons.txt and comparisons.json.
"""

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison_worlds import (
    MIN_EFFECT,
    MOST_IMAGES,
    ComparedWorld,
    Told,
    compared,
    residuals,
)
from benchmarks.judge_replay import Build, Series, read_series
from benchmarks.progress import counted
from benchmarks.verdicts import of_share
from buildbot_bench.core.compare.verdict import (
    Better,
    ComparedSides,
    VerdictTerms,
    Worse,
    compare_sides,
)
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Iteration, Sample

OUT = Path(__file__).parent / "out"
SEED = 20161231
REPLICATES, QUICK = 1000, 60
DUT = "AMD_GX-412TC"  # the APU2's
BOOTS = "pf-statefull"  # the workload whose boots vary as the middle one of the three
CALLED_CHANGED = 0.05  # of neighbours that did not change
FALSE = 0.01  # of comparisons of nothing
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A world, and the share of its comparisons that are to find what is there (None: nothing)."""

    name: str
    world: ComparedWorld
    found: float | None = None


def cases(years: Sequence[Series]) -> tuple[Case, ...]:
    """What is simulated, with boots drawn from recorded ones."""
    boots = residuals([one for one in years if BOOTS in one.name])
    every = residuals(years)
    world = partial(ComparedWorld, boots=boots)
    nothing = partial(world, effect=0.0)
    return (
        Case(name="nothing, asked as for 3 %", world=nothing(looked_for=0.03)),
        Case(name="nothing, asked as for 9 %", world=nothing(looked_for=0.09)),
        Case(name="-9 %", world=world(effect=-0.09, looked_for=0.09), found=0.99),
        Case(name="+3 %", world=world(effect=0.03, looked_for=0.03), found=0.9),
        Case(name="nothing, new testbed", world=nothing(looked_for=0.03, past=False)),
        Case(
            name="-9 %, new testbed",
            world=world(effect=-0.09, looked_for=0.09, past=False),
            found=0.99,
        ),
        Case(
            name="+3 %, new testbed",
            world=world(effect=0.03, looked_for=0.03, past=False),
            found=0.9,
        ),
        Case(
            name="nothing, 5 % of the images slow by 4 %",
            world=nothing(looked_for=0.03, far_share=0.05),
        ),
        Case(
            name="nothing, boots of all three workloads",
            world=ComparedWorld(effect=0.0, looked_for=0.03, boots=every),
        ),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, write; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="benchmarks comparisons", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates")
    parser.add_argument("--replicates", type=int, help=f"of each case ({REPLICATES})")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args(argv)
    replicates = options.replicates or (QUICK if options.quick else REPLICATES)
    years = [one for one in read_series() if DUT in one.name]
    rows = [recorded(way, years) for way in WAYS]
    lines: list[str] = []
    _say(lines, _recorded_text(rows))
    chosen = [case for case in cases(years) if options.only in case.name]
    for case in chosen:
        told = _told(case, replicates, SEED + options.seed, options.jobs)
        rows.append(simulated(case, told))
        _say(lines, [_simulated_text(rows[-1])])
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "comparisons.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (options.out / "comparisons.json").write_text(
        json.dumps(rows, indent=1) + "\n", encoding="utf-8"
    )
    return 0


def _by_nothing(builds: Sequence[Build], number: int) -> None:
    """No history."""
    del builds, number


def _by_the_rest(builds: Sequence[Build], number: int) -> Noise:
    """All other builds of the series taught the noise."""
    return learn([_sample(build) for build in (*builds[:number], *builds[number + 2 :])])


def _by_those_before(builds: Sequence[Build], number: int) -> Noise:
    """Those before the newer of the two did."""
    return learn([_sample(build) for build in builds[: number + 1]])


@dataclass(frozen=True, kw_only=True)
class _Way:
    name: str
    noise: Callable[[Sequence[Build], int], Noise | None]
    most: float | None = None


WAYS = (
    _Way(name="no history", noise=_by_nothing),
    _Way(name="noise of all other builds", noise=_by_the_rest, most=CALLED_CHANGED),
    _Way(name="noise of the builds before", noise=_by_those_before),
)


def recorded(way: _Way, years: Sequence[Series]) -> Row:
    """What neighbours are called that did not change, and those that did."""
    calm: list[ComparedSides] = []
    changes: list[ComparedSides] = []
    for one in years:
        known = {change.at for change in one.changes}
        for number, (old, new) in enumerate(zip(one.builds, one.builds[1:], strict=False)):
            found = _compared(old, new, way.noise(one.builds, number))
            (changes if number + 1 in known else calm).append(found)
    called = sum(_is_changed(found) for found in calm)
    return {
        "way": way.name,
        "neighbours": len(calm),
        "called_changed": called,
        "of_these_not_separated": sum(_is_changed(it) and not it.separated for it in calm),
        "verdicts": dict(Counter(it.verdict.kind for it in calm)),
        "changes": len(changes),
        "changes_found": sum(_is_changed(found) for found in changes),
        "at_most": way.most,
        "verdict": None if way.most is None else str(of_share(called, len(calm), way.most)),
    }


def _compared(old: Build, new: Build, noise: Noise | None) -> ComparedSides:
    terms = VerdictTerms(min_effect=MIN_EFFECT, images=False)
    return compare_sides({0: old.values}, {0: new.values}, noise, terms)


def _sample(build: Build) -> Sample:
    iterations = tuple(Iteration(value=value) for value in build.values)
    return Sample(label=build.label, position=build.position, iterations=iterations)


def _is_changed(found: ComparedSides) -> bool:
    return isinstance(found.verdict, Better | Worse)


def simulated(case: Case, told: Sequence[Told]) -> Row:
    """How many are right and wrong, what they took, and whether the targets are reached."""
    total, effect = len(told), case.world.effect
    right = Better if effect > 0 else Worse
    changed = sum(_is_changed(one.found) for one in told)
    found = sum(isinstance(one.found.verdict, right) for one in told) if effect else 0
    wrong = changed - found
    verdicts = {f"wrong ≤ {FALSE:.0%}": str(of_share(wrong, total, FALSE))}
    if case.found is not None:
        reached = of_share(total - found, total, 1 - case.found)
        verdicts[f"found ≥ {case.found:.0%}"] = str(reached)
    return {
        "case": case.name,
        "effect": effect,
        "replicates": total,
        "found": found,
        "wrong": wrong,
        "kinds": dict(Counter(one.found.verdict.kind for one in told)),
        "beforehand": _mean(one.at_first for one in told),
        "images": _mean(one.images for one in told),
        "boots": _mean(one.boots for one in told),
        "looks": _mean(one.looks for one in told),
        "interval_holds_truth": _mean(_holds(one.found, effect) for one in told),
        "verdicts": verdicts,
    }


def _holds(found: ComparedSides, effect: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= effect <= found.high


def _mean(values: Iterable[float]) -> tuple[float, float]:
    """A mean, and its standard error."""
    known = np.array(list(values), dtype=float)
    spread = float(known.std(ddof=1)) if known.size > 1 else 0.0
    return float(known.mean()), spread / math.sqrt(known.size)


def _told(case: Case, replicates: int, seed: int, jobs: int | None) -> list[Told]:
    one = partial(_one, case.world, seed)
    with ProcessPoolExecutor(jobs) as pool:
        done = pool.map(one, range(replicates), chunksize=8)
        return list(counted(done, replicates, case.name))


def _one(world: ComparedWorld, seed: int, number: int) -> Told:
    return compared(world, np.random.default_rng([seed, number]))


def _recorded_text(rows: Sequence[Row]) -> Iterator[str]:
    yield f"Neighbouring builds of {DUT}, 2016, one image each (five boots), known changes left out"
    for row in rows:
        called, total = row["called_changed"], row["neighbours"]
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(row["verdicts"].items()))
        yield (
            f"{row['way']}\n  {_share(called, total)} of {total} called changed "
            f"({row['of_these_not_separated']} of them not separated from layout): {kinds}; "
            f"{row['changes_found']} of {row['changes']} changes found"
        )
        if row["verdict"]:
            yield f"    wanted called changed ≤ {row['at_most']:.0%}: {row['verdict']}"
    yield f"Simulated comparisons, images of each side as asked for, at most {MOST_IMAGES}"


def _simulated_text(row: Row) -> str:
    total = row["replicates"]
    figures = {
        name: f"{row[name][0]:.1f} ± {row[name][1]:.1f}"
        for name in ("beforehand", "images", "boots", "looks")
    }
    parts = [
        f"{_share(row['found'], total)} found" if row["effect"] else "",
        f"{_share(row['wrong'], total)} called changed wrongly",
        f"{figures['images']} images of each side ({row['beforehand'][0]:.1f} told beforehand)",
        f"{figures['boots']} boots, {figures['looks']} looks",
        f"95 % interval holds the truth in {100 * row['interval_holds_truth'][0]:.1f} %",
    ]
    wanted = ", ".join(f"{what}: {verdict}" for what, verdict in row["verdicts"].items())
    return f"{row['case']}\n  {', '.join(filter(None, parts))}\n    wanted {wanted}"


def _share(count: int, total: int) -> str:
    share = count / total
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / total):.1f} %"


def _say(lines: list[str], text: Iterable[str]) -> None:
    for line in text:
        print(line, flush=True)
        lines.append(line)


if __name__ == "__main__":
    raise SystemExit(main())
