"""Git repositories for tests: linear histories with files and Subversion notes.

Source of the notes' form: FreeBSD's git repository, `svn path=/head/; revision=311849`.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FIRST_COMMIT_AT_S = 1_484_000_000
IDENTITY = "A Committer <committer@example.org>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """One commit on top of the one before it; a file whose content is None is removed."""

    files: Mapping[str, str | None] = field(default_factory=dict)
    subject: str | bytes = "A change"
    author: str | bytes = IDENTITY
    svn: int | None = None
    merged: str | None = None


def make_repository(path: Path, commits: Sequence[Commit], *, branch: str = "main") -> list[str]:
    """Create a repository (bare) and return the hashes of its commits, oldest first."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", branch, str(path)], check=True)
    return add_commits(path, commits, branch=branch)


def add_commits(
    path: Path, commits: Sequence[Commit], *, branch: str = "main", on: str | None = None
) -> list[str]:
    """Add commits to a branch, or to a commit that the branch is then forced to."""
    known = git(path, "for-each-ref", "--format=%(objectname)", f"refs/heads/{branch}")
    base = on or known
    marks = path / "test-marks"
    command = ["git", "-C", str(path), "fast-import", "--quiet", "--force"]
    stream = b"".join(_stream(commits, branch=branch, base=base, notes=_has_notes(path)))
    subprocess.run([*command, f"--export-marks={marks}"], input=stream, check=True)
    pairs = (line.split() for line in marks.read_text(encoding="ascii").splitlines())
    shas = {int(mark[1:]): sha for mark, sha in pairs}
    return [shas[mark] for mark in range(1, len(commits) + 1)]


def numbered(first: int, last: int) -> list[Commit]:
    """One commit per Subversion number, each of which changes the kernel."""
    return [
        Commit(files={"sys/kernel.c": f"r{n}\n"}, subject=f"Change {n}", svn=n)
        for n in range(first, last + 1)
    ]


def add_raw_commit(
    path: Path, text: bytes, *, name: str = "sys/kernel.c", to: str = "odd\n"
) -> str:
    """Add a commit to main that says what no git would write; it changes one file.

    `text` follows the line of its parent.
    """
    tip = git(path, "rev-parse", "refs/heads/main")
    (model,) = add_commits(path, [Commit(files={name: to})], branch="test-model", on=tip)
    git(path, "update-ref", "-d", "refs/heads/test-model")
    tree = git(path, "rev-parse", f"{model}^{{tree}}")
    sha = write_object(path, b"tree %s\nparent %s\n" % (tree.encode(), tip.encode()) + text)
    git(path, "update-ref", "refs/heads/main", sha)
    return sha


def write_object(path: Path, content: bytes, kind: str = "commit") -> str:
    """The hash of an object that git stores as it is given."""
    command = ["git", "-C", str(path), "hash-object", "-t", kind, "-w", "--stdin", "--literally"]
    done = subprocess.run(command, input=content, check=True, capture_output=True)
    return done.stdout.decode("ascii").strip()


def git(path: Path, *arguments: str) -> str:
    """What a git command prints, without the newline at its end."""
    environment = {
        **os.environ,
        "GIT_AUTHOR_NAME": "An Author",
        "GIT_AUTHOR_EMAIL": "author@example.org",
        "GIT_COMMITTER_NAME": "A Committer",
        "GIT_COMMITTER_EMAIL": "committer@example.org",
    }
    command = ["git", "-C", str(path), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, env=environment)
    return done.stdout.decode(errors="replace").strip()


def _has_notes(path: Path) -> bool:
    return bool(git(path, "for-each-ref", "refs/notes/commits"))


def _stream(commits: Sequence[Commit], *, branch: str, base: str, notes: bool) -> Iterable[bytes]:
    for mark, commit in enumerate(commits, 1):
        at = f"{FIRST_COMMIT_AT_S + 60 * mark} +0000"
        yield f"commit refs/heads/{branch}\nmark :{mark}\n".encode()
        yield b"author " + _bytes(commit.author) + f" {at}\ncommitter {IDENTITY} {at}\n".encode()
        yield _data(_bytes(commit.subject))
        if mark == 1 and base:
            yield f"from {base}\n".encode()
        if commit.merged:
            yield f"merge {commit.merged}\n".encode()
        for name, content in commit.files.items():
            if content is None:
                yield f"D {name}\n".encode()
            else:
                yield f"M 100644 inline {name}\n".encode() + _data(content.encode())
    if any(commit.svn for commit in commits):
        yield f"commit refs/notes/commits\ncommitter {IDENTITY} {at}\n".encode() + _data(b"Notes")
        if notes:
            yield b"from refs/notes/commits^0\n"
        for mark, commit in enumerate(commits, 1):
            if commit.svn:
                text = f"svn path=/head/; revision={commit.svn}\n"
                yield f"N inline :{mark}\n".encode() + _data(text.encode())


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
