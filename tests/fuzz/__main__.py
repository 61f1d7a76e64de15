"""`make fuzz`: put inputs to every parser until its time is over, and keep what makes one fail.

A parser may refuse an input by an error of core.errors. Any other exception, more than 3 s of
processor time, more than 2 GiB of memory and a process that dies are failures: the input is written
to tests/data/fuzz/PARSER, where each later `make test` tries it. Exit status: 0 when nothing
failed, 1 else.
"""

import argparse
import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.one_parser import DRAWN, GUIDED, last_input
from tests.fuzz.target import FuzzTarget
from tests.fuzz.targets import TARGETS

_SECONDS = 60.0  # of each parser
_GRACE_S = 120.0  # beside its time: to start, and to make a failing input small


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    options = _parser().parse_args(arguments)
    failed = []
    for target in _named(options.only):
        print(f"{target.name}: ", end="", flush=True)
        if not _passes(target, options.seconds, options.engine):
            failed.append(target.name)
    print(
        f"{len(failed)} of {len(_named(options.only))} parsers failed: {', '.join(failed) or '-'}"
    )
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    guided = importlib.util.find_spec(GUIDED) is not None
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=_SECONDS, help="for each parser (60)")
    parser.add_argument("--only", default="", metavar="NAME", help="parsers with this in the name")
    parser.add_argument(
        "--engine",
        choices=(DRAWN, GUIDED),
        default=GUIDED if guided else DRAWN,
        help="atheris follows the branches that an input takes (default where it is installed)",
    )
    return parser


def _named(part: str) -> list[FuzzTarget]:
    exact = [target for target in TARGETS if target.name == part]
    found = exact or [target for target in TARGETS if part in target.name]
    if not found:
        names = ", ".join(target.name for target in TARGETS)
        raise SystemExit(f"make fuzz: no parser's name contains {part!r}; there are {names}")
    return found


def _passes(target: FuzzTarget, seconds: float, engine: str) -> bool:
    """Try a parser in a process of its own, which may die of an input."""
    command = [sys.executable, "-m", "tests.fuzz.one_parser", target.name, str(seconds), engine]
    try:
        done = subprocess.run(command, timeout=seconds + _GRACE_S, check=False)
    except subprocess.TimeoutExpired:
        print(f"did not end in time; its last input is kept in {_keep_last(target)}")
        return False
    if done.returncode < 0:
        print(f"died of signal {-done.returncode}; its input is kept in {_keep_last(target)}")
    return done.returncode == 0


def _keep_last(target: FuzzTarget) -> Path:
    return target.keep(last_input(target).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
