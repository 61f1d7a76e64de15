"""A git repository of FreeBSD's size and shape, made by git fast-import.

Source of the shape: FreeBSD's git repository. One long main branch, whose commits have notes like
`svn path=/head/; revision=311848`; stable branches, whose commits take numbers in between; a merge
of a vendor branch now and then.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

COMMITS = 300_000
# Of six numbers, one belongs to a commit of another branch.
_EACH_SIXTH = 5
_MERGE_EACH = 500
_STABLE = ("stable/11", "stable/12")
_FIRST_AT_S = 739_000_000  # 1993
_BETWEEN_S = 3000
_SUBSYSTEMS = ("dev/e1000", "netinet", "netinet6", "net", "kern", "vm", "netpfil/pf", "amd64/amd64")
_FILES = 40
_BODY = (
    "The interrupt handler reads the cause once and hands the rest to the task, so that\n"
    "no frame waits for the next interrupt. While here, sort the includes.\n\n"
    "Reviewed by:\tgallatin, olivier\nMFC after:\t2 weeks\n"
)


def svn_number(position: int) -> int:
    """The Subversion number of the commit at a position of main."""
    return position + (position - 1) // _EACH_SIXTH


def make_freebsd_sized(path: Path, commits: int = COMMITS, stable: Sequence[str] = _STABLE) -> None:
    """Make a bare repository there; 300 000 commits take about a minute and 250 MB.

    `commits` are those of main; each of the `stable` branches parts from it and has some more.
    """
    git = shutil.which("git") or "git"
    subprocess.run([git, "init", "-q", "--bare", "-b", "main", str(path)], check=True)  # noqa: S603
    with tempfile.TemporaryFile() as stream:
        stream.writelines(_stream(commits, stable))
        stream.seek(0)
        command = [git, "-C", str(path), "fast-import", "--quiet"]
        subprocess.run(command, stdin=stream, check=True)  # noqa: S603 - a fixed command line


@dataclass(frozen=True, kw_only=True, slots=True)
class _Commit:
    """`start` and `merged` are marks of other commits, or 0."""

    branch: str
    mark: int
    position: int
    subject: str
    file: str
    start: int = 0
    merged: int = 0

    def text(self) -> bytes:
        who = f"Committer {self.position % 400} <c{self.position % 400}@example.org>"
        when = f"{_FIRST_AT_S + self.position * _BETWEEN_S} +0000"
        message = f"{self.subject}\n\n{_BODY}"
        content = f"/* change {self.position} */\n"
        lines = [
            f"commit refs/heads/{self.branch}\nmark :{self.mark}",
            f"author {who} {when}\ncommitter {who} {when}",
            f"data {len(message)}\n{message}",
            *([f"from :{self.start}"] if self.start else []),
            *([f"merge :{self.merged}"] if self.merged else []),
            f"M 100644 inline {self.file}\ndata {len(content)}\n{content}\n",
        ]
        return "\n".join(lines).encode()


def _stream(commits: int, stable: Sequence[str]) -> Iterator[bytes]:
    begun = set[str]()
    for position in range(1, commits + 1):
        vendor = 2 * commits + position if position % _MERGE_EACH == 0 else 0
        where = _SUBSYSTEMS[position % len(_SUBSYSTEMS)]
        plain = _Commit(
            branch="main",
            mark=position,
            position=position,
            subject=f"{where}: change {position}",
            file=f"sys/{where}/file{position % _FILES}.c",
            merged=vendor,
        )
        if vendor:
            yield replace(plain, branch="vendor/tool", mark=vendor, merged=0).text()
        yield plain.text()
        if position % _EACH_SIXTH == 0:
            branch = stable[position * len(stable) // (commits + 1)]
            start = 0 if branch in begun else position
            begun.add(branch)
            mark = commits + position
            yield replace(plain, branch=branch, mark=mark, merged=0, start=start).text()
    yield from _notes(commits)


def _notes(commits: int) -> Iterator[bytes]:
    at_s = _FIRST_AT_S + commits * _BETWEEN_S
    yield f"commit refs/notes/commits\ncommitter A <a@example.org> {at_s} +0000\n".encode()
    yield b"data 5\nNotes\n"
    for position in range(1, commits + 1):
        yield _note(position, "/head/", svn_number(position))
        if position % _EACH_SIXTH == 0:
            yield _note(commits + position, "/stable/", svn_number(position) + 1)


def _note(mark: int, where: str, number: int) -> bytes:
    text = f"svn path={where}; revision={number}\n"
    return f"N inline :{mark}\ndata {len(text)}\n{text}\n".encode()
