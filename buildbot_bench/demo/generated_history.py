"""Git repositories of generated commits, with the same hashes on any machine.

Commits carry notes of FreeBSD's Subversion era (`svn path=/head/; revision=311849`); each note is a
commit of its own on refs/notes/commits, so that notes are published with their commits.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAIN = "main"
BRANCH = f"refs/heads/{MAIN}"
NOTES = "refs/notes/commits"
_FIRST_COMMIT_S = 1_484_000_000  # January 2017, when r311849 was made
_BETWEEN_COMMITS_S = 1800


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratedCommit:
    """One commit to be: its Subversion number, who and what, and the files that it changes.

    `branch` is the one that it goes on; `parent` the Subversion number of the commit on which a
    branch's first one stands, None for a repository's very first.
    """

    svn: int
    author: str
    message: str
    files: Mapping[str, str]
    branch: str = MAIN
    parent: int | None = None


def write_history(path: Path, commits: Sequence[GeneratedCommit]) -> dict[str, str]:
    """Make a bare repository of commits; returns the hash of each label (r311849), as given."""
    git(path.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(path))
    stream = b"".join(_stream(commits))
    marks = path / "made-marks"
    subprocess.run(  # noqa: S603 - a fixed command line
        [
            *("git", "-C", str(path), "fast-import"),
            *("--quiet", "--done", f"--export-marks={marks.absolute()}"),
        ],
        input=stream,
        check=True,
        env=_environment(),
    )
    made = dict(line.split() for line in marks.read_text(encoding="ascii").splitlines())
    marks.unlink()
    return {f"r{commit.svn}": made[f":{number}"] for number, commit in enumerate(commits, start=1)}


def publish(source: Path, target: Path, label: str, shas: Mapping[str, str]) -> None:
    """Push a history up to and including a label to a bare repository, which is made if absent."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        git(target.parent, "init", "--quiet", "--bare", "--initial-branch=main", str(target))
    note = _chain(source, NOTES)[list(shas).index(label)]
    git(source, "push", "--quiet", str(target), f"{shas[label]}:{BRANCH}", f"{note}:{NOTES}")


def git(directory: Path, *arguments: str, given: str | None = None) -> str:
    """Run git without the user's own settings; raises CalledProcessError when it fails.

    `given` is what git reads on its standard input.
    """
    result = subprocess.run(  # noqa: S603 - no shell, and git reads no options from our data
        ["git", "-C", str(directory), *arguments],  # noqa: S607 - git from PATH
        check=True,
        env=_environment(),
        input=given,
        stdout=subprocess.PIPE,
        text=True,
    )
    return result.stdout


def _chain(repository: Path, ref: str) -> list[str]:
    return git(repository, "rev-list", "--reverse", ref).split()


def _environment() -> dict[str, str]:
    ours = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | ours


def _stream(commits: Sequence[GeneratedCommit]) -> Iterator[bytes]:
    """The commits, then their notes, in the language of git-fast-import(1)."""
    marks = {commit.svn: number for number, commit in enumerate(commits, start=1)}
    begun: set[str] = set()
    for number, commit in enumerate(commits):
        yield f"commit refs/heads/{commit.branch}\nmark :{number + 1}\n".encode()
        yield _signed(commit.author, number) + _data(commit.message)
        if commit.parent is not None and commit.branch not in begun:
            yield f"from :{marks[commit.parent]}\n".encode()
        begun.add(commit.branch)
        for name, content in commit.files.items():
            yield f"M 100644 inline {name}\n".encode() + _data(content)
    for number, commit in enumerate(commits):
        yield f"commit {NOTES}\n".encode()
        yield _signed("svn2git", number) + _data(f"Note r{commit.svn}\n")
        yield f"N inline :{number + 1}\n".encode()
        where = "head" if commit.branch == MAIN else commit.branch
        yield _data(f"svn path=/{where}/; revision={commit.svn}\n")
    yield b"done\n"


def _signed(author: str, number: int) -> bytes:
    when = f"{_FIRST_COMMIT_S + number * _BETWEEN_COMMITS_S} +0000"
    who = f"{author} <{author}@FreeBSD.example> {when}\n"
    return f"author {who}committer {who}".encode()


def _data(text: str) -> bytes:
    content = text.encode()
    return b"data %d\n%s\n" % (len(content), content)
