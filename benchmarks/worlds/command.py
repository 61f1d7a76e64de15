"""`python -m benchmarks worlds`: count the boots and builds of searches in simulated labs.

Judged rows run by default; `--only dev` runs those that constants may be tuned on instead.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.progress import counted
from benchmarks.verdicts import Verdict
from benchmarks.worlds.dev import DEV_ROWS
from benchmarks.worlds.row import Row
from benchmarks.worlds.rows import ROWS
from benchmarks.worlds.runs import outcomes
from benchmarks.worlds.table import Figures

OUT = Path(__file__).parents[1] / "out"
# Of each row, and of those about rare errors; the same for a quick look.
REPLICATES, MANY, QUICK, QUICK_MANY = 100, 300, 10, 30
DEV = "dev "


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table as it comes, and write it as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks worlds", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates")
    parser.add_argument("--replicates", type=int, help="of every row (100; 300 for rare errors)")
    parser.add_argument("--only", default="", help="rows whose name contains this; 'dev'")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds: to develop with")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    options = parser.parse_args(argv)
    todo = chosen(options.only)
    if not todo:
        parser.error(f"no row's name contains {options.only!r}")
    figures: dict[str, Figures] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in todo:
            count = options.replicates or _replicates(row, quick=options.quick)
            done = counted(outcomes(pool, row, count, options.seed), count, row.name)
            figures[row.name] = Figures(row=row, outcomes=tuple(done))
            print(figures[row.name].text(figures.get(row.versus)), flush=True)
    _tell_missed(figures)
    table = [one.as_json(figures.get(one.row.versus)) for one in figures.values()]
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"seed": options.seed, "rows": table}, indent=1)
    (options.out / "worlds.json").write_text(text + "\n", encoding="utf-8")
    return 0


def chosen(only: str) -> list[Row]:
    """The rows whose name contains this; those to develop with only where they are asked for."""
    rows = DEV_ROWS if only.strip() == DEV.strip() or only.startswith(DEV) else ROWS
    return [row for row in rows if only in row.name]


def _replicates(row: Row, *, quick: bool) -> int:
    if quick:
        return QUICK_MANY if row.many else QUICK
    return MANY if row.many else REPLICATES


def _tell_missed(figures: dict[str, Figures]) -> None:
    """What was not reached, in one place, at the end."""
    judged = [
        (name, what, verdict)
        for name, one in figures.items()
        for what, verdict in one.verdicts(figures.get(one.row.versus)).items()
    ]
    reached = sum(verdict is Verdict.REACHED for _, _, verdict in judged)
    print(f"\n{reached} of {len(judged)} targets reached")
    for name, what, verdict in judged:
        if verdict is not Verdict.REACHED:
            print(f"  {verdict}: {name}: {what}")


if __name__ == "__main__":
    sys.exit(main())
