"""`python -m benchmarks`: measure quality and cost of searches and judgements.

Tables are printed as they come; the figures as JSON and the plots go to benchmarks/out/.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks import (
    breakages,
    comparisons,
    factors,
    figures,
    foreign,
    history,
    incident,
    intervals,
    judge,
    load,
    loss,
    many_series,
    pauses,
    pipeline,
    plots,
    prebuilt,
    relinked,
    rounded,
    search,
    sensitivity,
    suites,
    why,
    year,
)
from benchmarks.commands import command as commands
from benchmarks.recorded import command as recorded
from benchmarks.worlds import command as worlds
from benchmarks.worlds import forecasts
from buildbot_bench.core.errors import BenchError

ALL: dict[str, tuple[str, Callable[[list[str]], int]]] = {
    "search": ("the search against bounds, targets and others' ways of bisecting", search.main),
    "worlds": ("the search to its mail, in labs that its model does not know", worlds.main),
    "forecasts": ("what searches take, against what was forecast", forecasts.main),
    "incident": ("one culprit on three workloads, and what an exact figure saves", incident.main),
    "breakages": ("searches for what broke a branch, where booting is a race", breakages.main),
    "judge": ("the judge on recorded and on simulated years", judge.main),
    "comparisons": ("what comparisons call better or worse, and what it took", comparisons.main),
    "many-series": ("a thousand series that share the judge's budget", many_series.main),
    "suites": ("all values of a suite compared with themselves", suites.main),
    "factors": ("how often intervals of effects and interactions hold the truth", factors.main),
    "sensitivity": ("how far halved and doubled constants move the search", sensitivity.main),
    "intervals": ("how often a step's 95 % interval holds the truth", intervals.main),
    "commands": ("histories of a real library, by bench-bisect --local and others", commands.main),
    "recorded": ("searches of --local on runs recorded on a busy machine", recorded.main),
    "rounded": ("searches of --local where a coarse clock rounds", rounded.main),
    "loss": ("the rate without loss of DUTs whose capacity is known", loss.main),
    "prebuilt": ("what searches build where every tenth kernel is there", prebuilt.main),
    "pipeline": ("what the farm adds to a measurement", lambda _: pipeline.main()),
    "relinked": ("how far images of one revision differ", lambda _: relinked.main()),
    "why": ("how often a report names the function that got slower", lambda _: why.main()),
    "history": ("what a history of FreeBSD's size costs", lambda _: history.main()),
    "load": ("what a cycle costs on a farm of many labs", lambda _: load.main()),
    "year": ("pages, mails, copies of a farm that lived a year", lambda _: year.main([])),
    "pauses": ("how long pages and the broker pause while all work", lambda _: pauses.main([])),
    "plots": ("the plots of what was found last", plots.main),
}
# They have options of their own.
APART = {"figures": figures.main, "foreign": foreign.main, "year": year.main}
SCALED = (
    "search",
    "worlds",
    "forecasts",
    "intervals",
    "incident",
    "breakages",
    "judge",
    "many-series",
    "comparisons",
    "suites",
    "factors",
    "sensitivity",
    "commands",
    "recorded",
    "loss",
    "prebuilt",
    "rounded",
)
SEEDED = tuple(name for name in SCALED if name not in {"incident", "recorded"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run those that are named, or all, one after the other; 1 if any of them failed."""
    given = sys.argv[1:] if argv is None else argv
    if given and given[0] in APART:
        return APART[given[0]](given[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:12s} {what}" for name, (what, _) in ALL.items())
        + "\n\n`python -m benchmarks foreign DIR...` judges series that others measured."
        + "\n`make figures` runs those that docs/explanation/why-believe-it.md names."
        + "\n`python -m benchmarks.search --help`, `….judge`, `….why`, `….worlds.command` and"
        " `….sensitivity`\ntell of their own options",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run; by default all")
    parser.add_argument("--quick", action="store_true", help="few replicates: some minutes")
    parser.add_argument("--replicates", type=int, metavar="N", help="ranges for each case")
    parser.add_argument("--seed", type=int, metavar="N", help="added to the searches' seeds")
    options = parser.parse_args(given)
    if strange := [name for name in options.names if name not in ALL]:
        parser.error(f"there is no {strange[0]!r}; there are {', '.join(ALL)}")
    scale = ["--quick"] if options.quick else []
    scale += [f"--replicates={options.replicates}"] if options.replicates else []
    seed = [f"--seed={options.seed}"] if options.seed else []
    worst = 0
    for name in options.names or ALL:
        what, run = ALL[name]
        print(f"\n# {name}: {what}", flush=True)
        began_s = time.monotonic()
        try:
            worst = max(worst, run(_options(name, scale, seed)))
        except BenchError as error:
            print(f"{name} failed: {error}", file=sys.stderr)
            worst = 1
        print(f"\n{name} took {time.monotonic() - began_s:.0f} s", flush=True)
    return worst


def _options(name: str, scale: list[str], seed: list[str]) -> list[str]:
    """Those that a benchmark has of ours."""
    return [*(scale if name in SCALED else []), *(seed if name in SEEDED else [])]


if __name__ == "__main__":
    sys.exit(main())
