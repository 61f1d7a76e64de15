"""Repositories and recordings from which farms of tests are made."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from buildbot_bench.demo.cli import make_replay_history
from buildbot_bench.demo.generated_history import SOURCES, GeneratedCommit, write_history
from tests.e2e.replay_farm import History
from tests.edits import Change, edited_commits


def iflib_history(home: Path) -> History:
    """r311848 to r313448, to publish as much from as a farm needs; it is made once in a home."""
    path, shas = home / "src", home / "shas.json"
    if not shas.exists():
        home.mkdir(exist_ok=True)
        shas.write_text(json.dumps(make_replay_history(path)))
    return History(path=path, shas=json.loads(shas.read_text()))


def numbered_history(
    home: Path, first: int, last: int, files: Mapping[str, str] | None = None
) -> History:
    """Commits from rFIRST to rLAST; the kernel of each says its number, unless `files` does."""
    commits = [
        GeneratedCommit(
            svn=svn,
            author="alice",
            message=f"Change {svn}\n",
            files={"kernel": f"r{svn}\n", "count": f"{svn}\n"} | dict(files or {}),
        )
        for svn in range(first, last + 1)
    ]
    return History(path=home / "src", shas=write_history(home / "src", commits))


def edited_history(home: Path, first: int | Change, changes: Iterable[Change]) -> History:
    """The embedded testbed's kernel, imported by the first commit and edited by the others."""
    imported = (
        first
        if isinstance(first, Change)
        else Change(label=f"r{first}", author="alice", message="Import the embedded kernel")
    )
    commits = list(edited_commits(SOURCES, imported, changes))
    return History(path=home / "src", shas=write_history(home / "src", commits))


def record(path: Path, points: Mapping[int, Sequence[float]]) -> None:
    """Write what each boot of a revision gives on the replay testbed; a farm may read meanwhile."""
    series = {
        "dut": "AMD_GX-412TC_4Cores",
        "label": "fbsd12-head.iflib",
        "workload": "forwarding",
        "points": [{"revision": f"r{svn}", "pps": list(pps)} for svn, pps in points.items()],
    }
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(series))
    partial.replace(path)


def record_levels(path: Path, levels: Mapping[int, float], *, seed: int) -> Path:
    """Record nine boots of each revision, which differ by 0.2 %; return the path."""
    noise = Random(seed)
    points = {
        svn: [level * (1 + noise.gauss(0, 0.002)) for _ in range(9)]
        for svn, level in levels.items()
    }
    record(path, points)
    return path
