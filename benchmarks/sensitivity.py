"""`python -m benchmarks sensitivity`: halve and double each constant and print the effect.

Each constant of the model's table, alone; the labs are the same for each, so that differences are
paired. A share is halved and doubled in its odds, and stays one.
"""

import argparse
import ast
import inspect
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.worlds.judging import Outcome
from benchmarks.worlds.runs import SEED, outcome
from buildbot_bench.core.model import constants

OUT = Path(__file__).parent / "out"
FACTORS = (0.5, 2.0)
REPLICATES, QUICK = 12, 4
# Costs, and the errors that the constants are there to prevent.
ROWS = (
    "dev n 1200, d 9",
    "dev n 300, d 4.5",
    "dev 5 % of the images slow by 3 %: -2.5 %",
    "dev 12 % of the images slow by 5 %: nothing there, claimed -4 %",
    "dev build noise .5 %, told half of it: -4 %",
    "dev all boots ±2 % from one moment on: -4 %",
)


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What a constant's other value does: boots more (with standard error), share of wrong."""

    boots: float
    boots_error: float
    wrong: float


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table as it comes, and write it as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks sensitivity", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates")
    parser.add_argument("--replicates", type=int, help=f"of each row ({REPLICATES})")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds")
    parser.add_argument("--only", default="", help="constants whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args(argv)
    count = options.replicates or (QUICK if options.quick else REPLICATES)
    run = partial(_outcomes, count, options.seed, options.jobs)
    base = run(None, 0.0)
    boots, wrong = _mean(base)
    print(f"{len(base)} searches of {len(ROWS)} rows: {boots:.1f} boots, {wrong:.1%} wrong")
    table = []
    for name, unit in units().items():
        if options.only not in name:
            continue
        value = getattr(constants, name)
        moved = {}
        for factor in FACTORS:
            other = scaled(value, factor, unit)
            moved[factor] = _moved(base, run(name, other))
            print(_line(name, value, other, moved[factor], wrong), flush=True)
        table.append({"name": name, "value": value, "moved": _as_json(moved)})
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"boots": boots, "wrong": wrong, "constants": table}, indent=1)
    (options.out / "sensitivity.json").write_text(text + "\n", encoding="utf-8")
    return 0


def units() -> dict[str, str]:
    """The unit of each constant, by its name: the first words of the text below it."""
    body = ast.parse(inspect.getsource(constants)).body
    found = {}
    for one, below in pairwise(body):
        match one, below:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=text)):
                found[name] = str(text).lower().partition(". source: ")[0]
    return found


Value = float | tuple[float, ...]


def scaled(value: Value, factor: float, unit: str) -> Value:
    """The value times a factor; of a share or a probability the odds; of a count a whole number.

    Of several values each.
    """
    if isinstance(value, tuple):
        return tuple(_scaled(one, factor, unit) for one in value)
    return _scaled(value, factor, unit)


def _scaled(value: float, factor: float, unit: str) -> float:
    if unit.startswith(("share", "probability")) and 0 < value < 1:
        odds = factor * value / (1 - value)
        return odds / (1 + odds)
    return max(round(value * factor), 1) if isinstance(value, int) else value * factor


def _outcomes(count: int, offset: int, jobs: int, name: str | None, value: Value) -> list[Outcome]:
    """The outcomes of all rows where the constant has this value; None: as it stands."""
    seeds = range(SEED + offset, SEED + offset + count)
    tasks = [(row, seed) for row in ROWS for seed in seeds]
    with ProcessPoolExecutor(jobs, initializer=_set, initargs=(name, value)) as pool:
        return list(pool.map(outcome, *zip(*tasks, strict=True), chunksize=2))


def _set(name: str | None, value: Value) -> None:
    if name is not None:
        setattr(constants, name, value)


def _mean(outcomes: list[Outcome]) -> tuple[float, float]:
    boots = float(np.mean([one.boots for one in outcomes]))
    return boots, float(np.mean([one.wrong for one in outcomes]))


def _moved(base: list[Outcome], other: list[Outcome]) -> Moved:
    more = [b.boots - a.boots for a, b in zip(base, other, strict=True)]
    error = float(np.std(more, ddof=1)) / len(more) ** 0.5
    return Moved(boots=float(np.mean(more)), boots_error=error, wrong=_mean(other)[1])


def _line(name: str, value: Value, other: Value, moved: Moved, wrong: float) -> str:
    boots = f"{moved.boots:+7.2f} ± {moved.boots_error:.2f} boots"
    values = f"{_told(value)} → {_told(other)}"
    return f"  {name:24s} {values} {boots}, wrong {wrong:.1%} → {moved.wrong:.1%}"


def _told(value: Value) -> str:
    several = value if isinstance(value, tuple) else (value,)
    return f"{', '.join(f'{one:.4g}' for one in several):>8s}"


def _as_json(moved: dict[float, Moved]) -> list[dict[str, float]]:
    return [
        {"factor": factor, "boots": m.boots, "boots_error": m.boots_error, "wrong": m.wrong}
        for factor, m in moved.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
