"""`python -m benchmarks judge`: print the judge's errors and costs, as a table and as JSON.

Results go to benchmarks/out/judge.txt and judge.json. --series FILE judges series of one's own.
"""

import argparse
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks import judge_layout
from benchmarks.judge_farm import World
from benchmarks.judge_replay import (
    SERIES,
    Call,
    Series,
    found,
    neighbours,
    read_series,
    replay,
    student,
    student_with_floor,
)
from benchmarks.judge_years import Row, false_mails, mixed_years, power
from benchmarks.progress import counted
from buildbot_bench.core.judge.model import JudgePolicy

OUT = Path(__file__).parent / "out"
SEED = 20160101

# "run" and "build" are sigma_run and sigma_build of core.model.
QUIET = World(sigma_run=0.005)
LAYOUT = World(sigma_run=0.005, sigma_build=0.01)
ROUGH = World(sigma_run=0.005, sigma_build=0.002, outliers=0.03)
DRIFTING = World(sigma_run=0.005, drift=0.005)
WORLDS = {
    "run 0.5 %": QUIET,
    "run 0.5 %, build 1 %": LAYOUT,
    "run 0.5 %, build 0.2 %, 3 % outliers": ROUGH,
    "run 0.5 %, drift 0.5 % in 4 h": DRIFTING,
}
POWER = (
    ("run 0.5 %", -0.02, 1, 4),
    ("run 0.5 %", -0.03, 1, 1),
    ("run 0.5 %", -0.05, 1, 1),
    ("run 0.5 %", -0.10, 1, 1),
    ("run 0.5 %", 0.10, 1, 1),
    ("run 0.5 %, build 1 %", -0.02, 1, 1),
    ("run 0.5 %, build 1 %", -0.03, 1, 1),
    ("run 0.5 %, build 1 %", -0.05, 1, 1),
    ("run 0.5 %, build 1 %", -0.10, 1, 1),
    ("run 0.5 %, build 0.2 %, 3 % outliers", -0.02, 1, 1),
    ("run 0.5 %, drift 0.5 % in 4 h", -0.02, 1, 1),
    ("run 0.5 %, ten times -0.5 %", -0.05, 10, 1),
)  # world, effect, commits over which it comes, weight of replicates
CREEP = "run 0.5 %, ten times -0.5 %"
COMMITS, CHANGES, MIXED_COMMITS = 1800, 50, 600  # of a quick run
DEFAULT_REPLICATES, QUICK_REPLICATES = 50, 10

FALSE_MAILS, POWER_AND_DELAY, MIXED_YEARS = "False mails", "Power and delay", "Mixed years"
FAR_IMAGES, FAR_DROPS = "Calm commits, some images far off by luck", "Drops of 4 % among them"
FAR_REPLICATES = 60  # drops of a quick run
Task = tuple[str, str, dict[str, Any]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, write; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="benchmarks judge", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates")
    parser.add_argument(
        "--replicates",
        type=int,
        default=DEFAULT_REPLICATES,
        help=f"scales what is simulated ({DEFAULT_REPLICATES}; --quick is {QUICK_REPLICATES})",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of all that is drawn ({SEED})")
    parser.add_argument("--series", type=Path, default=SERIES, help="recorded series (JSON lines)")
    parser.add_argument("--only", choices=("recorded", "simulated"), help="one half of it")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args(argv)
    replicates = QUICK_REPLICATES if options.quick else options.replicates
    results: dict[str, Any] = {"seed": options.seed, "replicates": replicates}
    lines: list[str] = []
    if options.only != "simulated":
        years = read_series(options.series)
        calls = {way: [rule(one) for one in years] for way, rule in WAYS.items()}
        results["recorded"] = [_score(way, years, its) for way, its in calls.items()]
        results["years"] = [
            _as_drawn(one, {way: its[number] for way, its in calls.items()})
            for number, one in enumerate(years)
        ]
        lines += _show("Recorded years", results["recorded"])
    if options.only != "recorded":
        scale = max(replicates // QUICK_REPLICATES, 1)
        for title, rows in simulated(scale, options.seed).items():
            results[title] = rows
            lines += _show(title, rows)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "judge.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (options.out / "judge.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


WAYS: dict[str, Callable[[Series], list[Call]]] = {
    "Student 95 % against the neighbour": lambda one: neighbours(one, student),
    "the same, 3 % or more": lambda one: neighbours(one, student_with_floor),
    "the judge": lambda one: replay(one, JudgePolicy()),
}


def _score(name: str, years: Sequence[Series], calls: Sequence[Sequence[Call]]) -> Row:
    pairs = list(zip(years, calls, strict=True))
    return {
        "way": name,
        "neighbours": sum(len(one.builds) - 1 for one in years),
        "changes": sum(len(one.changes) for one in years),
        "alarms": sum(map(len, calls)),
        "found": sum(found(one, its) for one, its in pairs),
        "found_at_the_very_place": sum(found(one, its, near=0) for one, its in pairs),
    }


def _as_drawn(one: Series, calls: dict[str, list[Call]]) -> Row:
    """A year with its known changes and the alarms of each way, by the number of the build."""
    return {
        "name": one.name,
        "means": [mean(build.values) for build in one.builds],
        "changes": [change.at for change in one.changes],
        "alarms": {way: [call.build for call in its] for way, its in calls.items()},
    }


def simulated(scale: int, seed: int = SEED) -> dict[str, list[Row]]:
    """The simulated years, on all processors; `scale` multiplies the replicates."""
    todo = tasks(scale)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        done = list(
            counted(
                pool.map(partial(_simulate, scale, seed), range(len(todo))),
                len(todo),
                "simulated years",
            )
        )
    tables = groupby(zip(todo, done, strict=True), key=lambda pair: pair[0][0])
    return {title: [row for _, row in pairs] for title, pairs in tables}


def tasks(scale: int) -> list[Task]:
    """What is simulated: the table it goes to, the world, and the arguments."""
    return [
        *((FALSE_MAILS, name, {"commits": COMMITS * scale}) for name in WORLDS),
        *(
            (
                POWER_AND_DELAY,
                name,
                {"effect": effect, "ramp": ramp, "replicates": CHANGES * scale * weight},
            )
            for name, effect, ramp, weight in POWER
        ),
        *((MIXED_YEARS, name, {"commits": MIXED_COMMITS * scale}) for name in WORLDS),
        *((FAR_IMAGES, name, {"years": scale}) for name in judge_layout.CASES),
        *((FAR_DROPS, name, {"replicates": FAR_REPLICATES * scale}) for name in judge_layout.CASES),
    ]


def _simulate(scale: int, seed: int, number: int) -> Row:
    title, name, arguments = tasks(scale)[number]
    if name in judge_layout.CASES:
        way = judge_layout.calm if title == FAR_IMAGES else judge_layout.drops
        return {"world": name, **way(name, seed=seed, **arguments)}
    ways: dict[str, Callable[..., Row]] = {
        FALSE_MAILS: false_mails,
        POWER_AND_DELAY: power,
        MIXED_YEARS: mixed_years,
    }
    world = QUIET if name == CREEP else WORLDS[name]
    return {"world": name, **ways[title](world, seed=seed, **arguments)}


def _show(title: str, rows: Sequence[Row]) -> list[str]:
    """A table with a line per row, printed as soon as it is known."""
    heads = list(rows[0])
    cells = [heads] + [[_text(row[head]) for head in heads] for row in rows]
    widths = [max(len(line[n]) for line in cells) for n in range(len(heads))]
    lines = ["", title]
    lines += ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    print("\n".join(lines), flush=True)
    return lines


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    raise SystemExit(main())
