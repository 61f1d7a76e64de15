"""The number of instructions that a command executes, by perf or by valgrind."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.programs import answer_of

PERF, VALGRIND = "perf", "valgrind"
_PERF = ("perf", "stat", "-x,", "-e", "instructions:u")
_COUNTED = re.compile(r"^(\d+),[^,]*,instructions:u\b", re.MULTILINE)
_TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def find_counter(wanted: str = "") -> str:
    """What counts instructions here: `wanted`, or the first that works."""
    if wanted in {"", PERF} and _perf_counts():
        return PERF
    if wanted in {"", VALGRIND} and shutil.which("valgrind"):
        return VALGRIND
    what = wanted or "neither perf nor valgrind"
    raise InfraError(
        f"{what} cannot count instructions on this machine" if wanted else f"{what} works here",
        hint="install valgrind, or let perf count: sysctl kernel.perf_event_paranoid=2",
    )


def counting(counter: str, words: Sequence[str], scratch: Path) -> tuple[str, ...]:
    """The command by way of what counts its instructions, children included."""
    if counter == PERF:
        return (*_PERF, "-o", str(scratch / "perf.csv"), "--", *words)
    return (
        "valgrind",
        "--tool=callgrind",
        "--quiet",
        "--trace-children=yes",
        f"--callgrind-out-file={scratch / 'callgrind.%p'}",
        f"--log-file={scratch / 'valgrind.%p'}",
        *words,
    )


def counted(counter: str, scratch: Path) -> float:
    """How many instructions were counted."""
    if counter == PERF:
        path = scratch / "perf.csv"
        text = path.read_text(errors="replace") if path.exists() else ""
        if match := _COUNTED.search(text):
            return float(match[1])
        raise InfraError(
            f"perf counted no instructions: {text.strip()[-200:]}",
            hint='write counter = "valgrind"',
        )
    totals = [
        max((int(count) for count in _TOTALS.findall(path.read_text(errors="replace"))), default=0)
        for path in scratch.glob("callgrind.*")
    ]
    if not sum(totals):
        raise UntestableRevision("valgrind counted no instructions of it")
    return float(sum(totals))


def _perf_counts() -> bool:
    try:
        done = answer_of([*_PERF, "--", "true"])
    except InfraError:
        return False
    return done.returncode == 0 and _COUNTED.search(done.stderr) is not None
