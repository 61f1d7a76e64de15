"""A script for `git bisect run` that compares the checked-out tree with a threshold.

`python -m benchmarks.commands.threshold --least SPEED --kept DIR --log FILE [--runs N | --hyperfine
N]`; exit status 0: no, 1: yes. Each measure adds a line to the log: how many runs it took.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import fmean

from benchmarks.commands.kept_build import take

_SPEED = re.compile(r"^speed: ([\d.]+)$", re.MULTILINE)


def speed(program: Path) -> float:
    """What one run prints, in MB/s."""
    done = subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    match = _SPEED.search(done.stdout)
    if match is None:
        raise SystemExit(f"{program} printed no speed: {done.stdout!r}")
    return float(match[1])


def hyperfine(program: Path, runs: int) -> float:
    """By hyperfine's mean of so many runs, in 1/s, of processor time as the speeds are."""
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.json"
        subprocess.run(  # noqa: S603
            ["hyperfine", "-N", f"--runs={runs}", f"--export-json={out}", str(program)],  # noqa: S607
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        (result,) = json.loads(out.read_text(encoding="utf-8"))["results"]
    return 1 / float(result["user"])


def measured(program: Path, runs: int, *, by_hyperfine: bool) -> float:
    """How fast a program is, by the mean of so many runs."""
    if by_hyperfine:
        return hyperfine(program, runs)
    return fmean(speed(program) for _ in range(runs))


def main() -> int:
    """Measure what is checked out here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=float, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--hyperfine", action="store_true")
    options = parser.parse_args()
    value = measured(take(options.kept), options.runs, by_hyperfine=options.hyperfine)
    with options.log.open("a", encoding="ascii") as log:
        log.write(f"{options.runs}\n")
    return int(value < options.least)


if __name__ == "__main__":
    sys.exit(main())
