"""The cost of a history of FreeBSD's size: 300 000 commits with Subversion notes.

`python -m benchmarks history` makes the repository, clones it, and starts twice on the mirror: the
first start reads all, a later one the index on disk. Each start is a process of its own, for its
memory. `git rev-list --first-parent --count main` on the same mirror gives the machine's speed.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.freebsd_sized import COMMITS, make_freebsd_sized
from buildbot_bench.core.errors import InfraError
from buildbot_bench.history import MirrorHistory

GOALS = {
    "first_index_s": 60.0,
    "later_start_s": 2.0,
    "r311848_ms": 50.0,
    "n245062_ms": 50.0,
    "memory_mb": 300.0,
}
_OUT = Path(__file__).parent / "out"
Figures = dict[str, float]


def main(argv: list[str] | None = None) -> int:
    """Print each figure beside its goal; 1 when one is missed."""
    if argv:
        print(json.dumps(_start(Path(argv[0]))))
        return 0
    home = Path(tempfile.mkdtemp(prefix="bench-history-"))
    try:
        figures = _measure(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    _OUT.mkdir(exist_ok=True)
    (_OUT / "history.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(f"{COMMITS} commits of main, each with a note; {figures['notes']:.0f} notes in all\n")
    for name, value in figures.items():
        goal = f"{GOALS[name]:9.0f}  {_verdict(name, value)}" if name in GOALS else ""
        print(f"{name:22}{value:10.3f}{goal}")
    return int(any(figures[name] > goal for name, goal in GOALS.items()))


def _verdict(name: str, value: float) -> str:
    return "reached" if value <= GOALS[name] else "MISSED"


def _measure(home: Path) -> Figures:
    made_s = _timed(lambda: make_freebsd_sized(home / "src"))
    history = MirrorHistory(home / "mirror.git", (home / "src").as_uri())
    clone_s = _timed(history.fetch)
    plain_s = _timed(lambda: _git(home, "rev-list", "--first-parent", "--count", "main"))
    first, later = (_start_apart(home / "mirror.git") for _ in range(2))
    listed = _git(home, "ls-tree", "-r", "--name-only", "refs/notes/commits")
    index = sum(file.stat().st_size for file in (home / "mirror.git" / "bench-index").iterdir())
    return {
        "made_s": made_s,
        "clone_s": clone_s,
        "plain_rev_list_s": plain_s,
        "first_index_s": first["index_s"],
        "later_start_s": later["index_s"],
        "r311848_ms": max(1000 * start["r311848_s"] for start in (first, later)),
        "n245062_ms": max(1000 * start["n245062_s"] for start in (first, later)),
        "memory_mb": max(start["memory_mb"] for start in (first, later)),
        "later_memory_mb": later["memory_mb"],
        "range_of_1600_s": later["range_s"],
        "index_on_disk_mb": index / 1e6,
        "notes": float(listed.count(b"\n")),
    }


def _start_apart(mirror: Path) -> Figures:
    command = [sys.executable, "-m", "benchmarks.history", str(mirror)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    figures: Figures = json.loads(done.stdout)
    return figures


def _start(mirror: Path) -> Figures:
    """Begin as a master does, and answer the questions that people ask first."""
    history = MirrorHistory(mirror, "file:///nowhere")
    figures = {"index_s": _timed(history.index)}
    for name in ("r311848", "n245062"):
        figures[f"{name}_s"] = _timed(partial(history.resolve, name))
    old, new = history.resolve("n243000"), history.resolve("n244600")
    figures["range_s"] = _timed(lambda: history.range(old, new))
    if (history.resolve("r311848").svn, history.resolve("n245062").position) != (311848, 245062):
        raise InfraError("the history does not answer what it was asked")
    figures["memory_mb"] = _peak_bytes() / 1e6
    return figures


def _peak_bytes() -> int:
    """The most memory that this process had. Source: proc(5).

    getrusage(2) would count the process that started it, too.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def _git(home: Path, *arguments: str) -> bytes:
    command = [shutil.which("git") or "git", f"--git-dir={home / 'mirror.git'}", *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603 - ours


def _timed(work: Callable[[], object]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
