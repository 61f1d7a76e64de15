"""`python -m benchmarks search`: compare the search with bounds, targets and other ways."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.progress import counted
from benchmarks.search_bounds import boots_against_a_mode, fano, lower_bound
from benchmarks.search_cases import CASES, Case
from benchmarks.search_grid import GRID
from benchmarks.search_lab import COSTS
from benchmarks.search_peers import PEERS
from benchmarks.search_runs import GENIE, LEARNER, OURS, Run, Said, runs, walls
from benchmarks.search_thinking import thinking
from benchmarks.verdicts import Verdict, of_mean, of_share
from buildbot_bench.core.search import forecast

OUT = Path(__file__).parent / "out"
DEFAULT_REPLICATES, QUICK_REPLICATES = 50, 10
FEWER_ON_GRID = 4  # of the plain field a quarter as many ranges say enough for a plot
LEAST = 4


@dataclass
class Row:
    """Means over the replicates of one case and way; `d` is the step in run noises."""

    case: str
    policy: str
    replicates: int
    iterations: float
    iterations_error: float
    images: float
    wrong: float
    n: int
    d: float | None
    bound: float | None
    plan_ms: float | None = None
    targets: dict[str, float] = field(default_factory=dict)
    forecast: tuple[float, float] | None = None
    within_forecast: tuple[float, float] | None = None

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What the replicates tell of each target."""
        judged = {}
        for name, most in self.targets.items():
            if name == "wrong":
                judged[name] = of_share(round(self.wrong * self.replicates), self.replicates, most)
            else:
                error = self.iterations_error if name == "iterations" else 0.0
                judged[name] = of_mean(getattr(self, name), error, most)
        return judged


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few replicates")
    parser.add_argument("--replicates", type=int, help=f"of each case ({DEFAULT_REPLICATES})")
    parser.add_argument("--ours", action="store_true", help="leave the others' ways out")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seed", type=int, default=0, help="added to all seeds: to develop with")
    parser.add_argument("--out", type=Path, default=OUT, help="where the figures go")
    args = parser.parse_args(argv)
    replicates = args.replicates or (QUICK_REPLICATES if args.quick else DEFAULT_REPLICATES)
    todo = [(case, replicates) for case in CASES]
    todo += [(case, max(replicates // FEWER_ON_GRID, LEAST)) for case in GRID]
    todo = [(case, count) for case, count in todo if args.only in case.name]
    rows: list[Row] = []
    said: list[Said] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for number, (case, count) in enumerate(todo, start=1):
            print(f"\n[{number}/{len(todo)}] {case.name}", flush=True)
            is_plain = case.d is not None and case.world.known == (0, 0)
            others = (case.peers or is_plain) and not args.ours
            rows += _case(pool, case, count, said, args.seed, peers=others)
        report = {
            "replicates": replicates,
            "rows": [asdict(row) | {"verdicts": row.verdicts} for row in rows],
            "calibration": _calibration(said),
            "thinking": [] if args.only else thinking(),
            "hours": [] if args.only else _wall(pool, max(replicates // 4, LEAST)),
        }
    _print_verdicts(rows)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "search.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def _case(
    pool: ProcessPoolExecutor,
    case: Case,
    replicates: int,
    said: list[Said],
    offset: int,
    *,
    peers: bool,
) -> list[Row]:
    ways = [OURS, *(PEERS if peers else ()), *([] if case.d is None else [LEARNER, GENIE])]
    rows = []
    for way in ways:
        done = list(counted(runs(pool, case, way, replicates, offset), replicates, way))
        said += [one for run in done for one in run.said]
        rows.append(_row(case, way, done))
        print(_line(rows[-1]), flush=True)
    if case.d is not None:
        bound, least = lower_bound(case.world.n, case.d), fano(case.world.n, case.d)
        print(f"  {'bound':16s} {bound:7.1f} iterations; Fano {least:.1f}")
    if case.mode_to_exclude and case.wrong:
        boots = boots_against_a_mode(case.world.n, case.mode_to_exclude, case.wrong)
        print(f"  {'bound':16s} {boots:7.1f} boots of a culprit until no mode explains them")
    return rows


def _row(case: Case, way: str, done: list[Run]) -> Row:
    iterations = [run.iterations for run in done]
    plans = [run.plan_s for run in done if run.plan_s is not None]
    row = Row(
        case=case.name,
        policy=way,
        replicates=len(done),
        iterations=float(np.mean(iterations)),
        iterations_error=float(np.std(iterations) / np.sqrt(len(done))),
        images=float(np.mean([run.images for run in done])),
        wrong=1 - float(np.mean([run.right for run in done])),
        n=case.world.n,
        d=case.d,
        bound=None if case.d is None else lower_bound(case.world.n, case.d),
        plan_ms=1e3 * float(np.median(plans)) if plans else None,
    )
    if way == OURS:
        targets = {"iterations": case.iterations, "images": case.images, "wrong": case.wrong}
        if case.over_fano and case.d:
            targets["iterations"] = case.over_fano * fano(case.world.n, case.d)
        row.targets = {name: most for name, most in targets.items() if most is not None}
        row.forecast = forecast(case.world.n, COSTS, case.policy).iterations
        median, most = (float(np.mean(np.array(iterations) <= told)) for told in row.forecast)
        row.within_forecast = median, most
    return row


def _line(row: Row) -> str:
    images = f"{row.images:7.1f} builds" if row.images else " " * 14
    line = (
        f"  {row.policy:16s} {row.iterations:7.1f} ± {row.iterations_error:4.1f} iterations"
        f" {images} {100 * row.wrong:6.1f} % wrong of {row.replicates}"
    )
    if row.forecast and row.within_forecast:
        median, most = (
            f"{told:.0f} ({100 * share:.0f} %)"
            for told, share in zip(row.forecast, row.within_forecast, strict=True)
        )
        line += f"  forecast {median} to {most}"
    if row.plan_ms is not None:
        line += f"  {row.plan_ms:.0f} ms a plan"
    told = [f"{name} ≤ {row.targets[name]:.4g} {verdict}" for name, verdict in row.verdicts.items()]
    return line + ("  wanted " + ", ".join(told) if told else "")


def _calibration(said: list[Said]) -> list[dict[str, float]]:
    """Of the steps said to be at least so sure, how many are right; and of their intervals."""
    print("\ncalibration")
    table = []
    for least in (0.9, 0.95, 0.99, 0.995, 0.999):
        those = [one for one in said if one.probability >= least]
        right = float(np.mean([one.right for one in those])) if those else float("nan")
        table.append({"said": least, "steps": len(those), "right": right})
        print(f"  said ≥ {100 * least:g} %: {100 * right:.2f} % of {len(those)} steps right")
    covered = [one.covered for one in said if one.covered is not None]
    if covered:
        share = float(np.mean(covered))
        table.append({"interval": 0.95, "steps": len(covered), "right": share})
        print(f"  95 % intervals: {100 * share:.2f} % of {len(covered)} hold the true effect")
    return table


def _wall(pool: ProcessPoolExecutor, replicates: int) -> list[dict[str, float]]:
    """Hours for 1600 commits, a 2.5 % step, builds of 20 min, boots of 5 min."""
    print("\nhours for 1600 commits, builds 20 min (bound with one builder: 3.6; git N=5: 8.9)")
    table = []
    for builders, kept in ((1, 0), (1, 64), (1, 16), (2, 0), (4, 0), (8, 0)):
        done = walls(pool, builders, kept, replicates)
        mean = float(np.mean([h for h, _ in done]))
        wrong = 1 - float(np.mean([right for _, right in done]))
        table.append({"builders": builders, "kept_every": kept, "hours": mean, "wrong": wrong})
        kept_text = f"every {kept}th kernel kept" if kept else "no kernel kept"
        print(f"  {builders} builders, {kept_text}: {mean:.2f} h, {100 * wrong:.1f} % wrong")
    return table


def _print_verdicts(rows: list[Row]) -> None:
    """What was not reached, in one place, at the end."""
    judged = [(row, name, verdict) for row in rows for name, verdict in row.verdicts.items()]
    reached = sum(verdict is Verdict.REACHED for _, _, verdict in judged)
    print(f"\n{reached} of {len(judged)} targets reached")
    for row, name, verdict in judged:
        if verdict is not Verdict.REACHED:
            print(f"  {verdict}: {row.case}: {name} ≤ {row.targets[name]:.4g}")


if __name__ == "__main__":
    sys.exit(main())
