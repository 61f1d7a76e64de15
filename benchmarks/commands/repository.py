"""A planted history as a git repository, with a built program for each commit."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.commands.planting import Files, PlantedHistory

_IDENTITY = "A Programmer <programmer@example.org>"
_FIRST_AT_S = 1_500_000_000


@dataclass(frozen=True, kw_only=True)
class PlantedRepository:
    """A repository and what was built of it: `kept` has one program for each tree.

    `shas` are the commits, the first state first. `build_s` is what building all took.
    """

    path: Path
    kept: Path
    shas: tuple[str, ...]
    build_s: float

    def program(self, position: int) -> Path:
        """What was built of a commit."""
        return self.kept / git(self.path, "rev-parse", f"{self.shas[position]}^{{tree}}")

    def clone(self, place: Path) -> Path:
        """A clone of one's own, with main checked out."""
        git(self.path, "clone", "--quiet", "--shared", str(self.path), str(place))
        return place


def git(place: Path, *arguments: str, stdin: bytes | None = None) -> str:
    """What git prints there, heeding no configuration of the person's."""
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(  # noqa: S603 - our own arguments
        ["git", "-C", str(place), *arguments],  # noqa: S607 - git from PATH
        input=stdin,
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, **own},
    )
    return done.stdout.decode().strip()


def make_planted(history: PlantedHistory, home: Path) -> PlantedRepository:
    """Write and build a history; a commit changes few files, and make builds no others."""
    path, kept, work = home / "library.git", home / "kept", home / "build"
    kept.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)  # noqa: S603, S607
    states = [history.first, *(commit.files for commit in history.commits)]
    subjects = ["Begin", *(f"Change {n}" for n in range(1, len(states)))]
    git(path, "fast-import", "--quiet", stdin=b"".join(_stream(states, subjects)))
    shas = tuple(git(path, "rev-list", "--reverse", "main").split())
    git(path, "worktree", "add", "--quiet", "--detach", str(work), shas[0])
    began_s = time.monotonic()
    for sha in shas:
        git(work, "checkout", "--quiet", sha)
        subprocess.run(["make", "-s", "-C", str(work), "bench"], check=True)  # noqa: S603, S607
        place = kept / git(work, "rev-parse", "HEAD^{tree}")
        if not place.exists():
            (work / "bench").rename(place)
            os.link(place, work / "bench")
    build_s = time.monotonic() - began_s
    git(path, "worktree", "remove", "--force", str(work))
    return PlantedRepository(path=path, kept=kept, shas=shas, build_s=build_s)


def _stream(states: list[Files], subjects: list[str]) -> Iterator[bytes]:
    """What git fast-import reads."""
    before: Files = {}
    for number, (files, subject) in enumerate(zip(states, subjects, strict=True)):
        when = f"{_IDENTITY} {_FIRST_AT_S + 3600 * number} +0000"
        yield f"commit refs/heads/main\ncommitter {when}\n".encode()
        yield f"data {len(subject.encode())}\n{subject}\n".encode()
        for name, text in files.items():
            if before.get(name) != text:
                content = text.encode()
                yield f"M 100644 inline {name}\ndata {len(content)}\n".encode() + content + b"\n"
        before = files
