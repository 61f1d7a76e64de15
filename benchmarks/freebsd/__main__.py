"""`make test-freebsd SRC=/path/to/src`: print measured figures beside the wanted ones.

All is done as a user would, on a scratch clone, with `bench-build`. SRC is only read.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.freebsd import bisecting, boots, box, box_farm, builds, faults, host
from benchmarks.freebsd.showing import say
from benchmarks.freebsd.table import Figure, show, verdict
from benchmarks.freebsd.workshop import Workshop
from buildbot_bench.core.errors import BenchError

Row = Callable[[Workshop], Iterator[Figure]]
# In this order: each may use what those before it have built. A row is a function that yields its
# figures as it gets them.
PARTS: dict[str, dict[str, Row]] = {
    "kernel": {
        "build": builds.build,
        "digest": builds.digest,
        "relink": builds.relink,
        "directory": builds.directory,
    },
    "vm": {"boot": boots.boot, "exact": boots.exact, "bisect": bisecting.bisect},
    "box": {
        "world": box.world,
        "box": box.box,
        "sets": box.sets,
        "host": host.host,
        "faults": faults.faults,
        "farm": box_farm.farm,
    },
}
ROWS = {name: row for rows in PARTS.values() for name, row in rows.items()}
_NO_TREE = """\
Say where a FreeBSD source tree is, as a git repository or an unpacked src.txz:

    git clone --depth 1 --branch releng/13.1 https://git.FreeBSD.org/src.git ~/freebsd-src
    make test-freebsd SRC=$HOME/freebsd-src

It is only read. The scratch clone, its objects and archives take about 6 GB. PART=kernel and
PART=vm take a quarter of an hour on two idle cores, an hour on busy ones; PART=box, which builds a
userland and runs a lab of virtual machines, takes two hours. Without PART all three are run.
`bench-build check` says what this machine lacks.
"""


def main(argv: Sequence[str] | None = None, rows: Mapping[str, Row] = ROWS) -> int:
    """Run the rows that are named, or all; 1 if a figure is not what is wanted."""
    options = _options(argv, rows)
    if not str(options.source):
        print(_NO_TREE, end="")
        return 0
    names = options.rows or list(rows)
    say(f"test-freebsd: {options.source}; rows: {', '.join(names)}")
    place = options.scratch or Path(tempfile.mkdtemp(prefix="test-freebsd-", dir=_scratch()))
    seen: list[Figure] = []
    try:
        say(f"scratch: {place}")
        workshop = Workshop.make(
            options.source.resolve(), place.resolve(), options.build, jobs=options.jobs
        )
        for name in names:
            for figure in rows[name](workshop):
                say(show([figure]))
                seen.append(figure)
    except BenchError as error:
        print(f"test-freebsd: {error}", file=sys.stderr)
        return 1
    finally:
        box.end(place)
        if seen:
            print(f"\n{show(seen)}\n{verdict(seen)}")
    return 0 if all(figure.is_met is not False for figure in seen) else 1


def _scratch() -> str:
    """Beside the caches: /tmp is often a small disk, or memory."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home.mkdir(parents=True, exist_ok=True)
    return str(home)


def _options(argv: Sequence[str] | None, rows: Mapping[str, Row]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.freebsd",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    say = parser.add_argument
    say("source", nargs="?", type=_source, default="", metavar="SRC", help="a FreeBSD source tree")
    say("--rows", metavar="ROW,…", help=f"of {', '.join(rows)}; default: those of --part")
    say("--part", choices=["", *PARTS], default="", metavar="PART", help=_parts_in_words())
    say("--scratch", type=Path, metavar="DIR", help="is kept; given again, its objects are used")
    say("--jobs", type=int, default=os.cpu_count() or 1, help="default here: %(default)s")
    say(
        "--build",
        action="append",
        default=[],
        metavar="WORD",
        help="for bench-build freebsd, instead of its kernel made of MINIMAL",
    )
    options = parser.parse_args(argv)
    of_part = list(PARTS.get(options.part, ()))
    options.rows = options.rows.split(",") if options.rows else of_part
    for name in options.rows:
        if name not in rows:
            parser.error(f"there is no row {name!r}; there are {', '.join(rows)}")
    return options


def _parts_in_words() -> str:
    parts = (f"{part} ({', '.join(rows)})" for part, rows in PARTS.items())
    return f"{'; '.join(parts)}; default: all"


def _source(text: str) -> Path | str:
    return Path(text) if text else ""


if __name__ == "__main__":
    sys.exit(main())
