"""`python -m benchmarks`: how well and how cheaply it searches and judges, against other ways.

Tables are printed as they come; the figures as JSON and the plots go to benchmarks/out/.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks import history, judge, pages, pipeline, plots, relinked, search
from buildbot_bench.core.errors import BenchError

ALL: dict[str, tuple[str, Callable[[list[str]], int]]] = {
    "search": ("the search against bounds, targets and others' ways of bisecting", search.main),
    "judge": ("the judge on recorded and on simulated years", judge.main),
    "pipeline": ("what the farm adds to a measurement", lambda _: pipeline.main()),
    "relinked": ("how far images of one revision differ", lambda _: relinked.main()),
    "history": ("what a history of FreeBSD's size costs", lambda _: history.main()),
    "pages": ("how fast the pages of a long life open", lambda _: pages.main()),
    "plots": ("the plots of what was found last", plots.main),
}
SCALED = ("search", "judge")


def main(argv: Sequence[str] | None = None) -> int:
    """Run those that are named, or all, one after the other; 1 if any of them failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(f"{name:10s} {what}" for name, (what, _) in ALL.items())
        + "\n\n`python -m benchmarks.search --help` and `….judge --help` tell of their own options",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run; by default all")
    parser.add_argument("--quick", action="store_true", help="few replicates: some minutes")
    parser.add_argument("--replicates", type=int, metavar="N", help="ranges for each case")
    options = parser.parse_args(argv)
    if strange := [name for name in options.names if name not in ALL]:
        parser.error(f"there is no {strange[0]!r}; there are {', '.join(ALL)}")
    scale = ["--quick"] if options.quick else []
    scale += [f"--replicates={options.replicates}"] if options.replicates else []
    worst = 0
    for name in options.names or ALL:
        what, run = ALL[name]
        print(f"\n# {name}: {what}", flush=True)
        began_s = time.monotonic()
        try:
            worst = max(worst, run(scale if name in SCALED else []))
        except BenchError as error:
            print(f"{name} failed: {error}", file=sys.stderr)
            worst = 1
        print(f"\n{name} took {time.monotonic() - began_s:.0f} s", flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
