"""Git repositories of generated commits, and of patches, with the same hashes anywhere."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

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


# What a developer built there.
_NOT_SOURCES = ("kernel", ".o", ".d", ".order", ".read-files")
_PACKAGE = resources.files("buildbot_bench.demo")


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A commit to be made; the texts of its patches are applied in their order."""

    label: str
    author: str
    message: str
    patches: tuple[str, ...] = ()


def read_changes(history: str) -> tuple[Change, ...]:
    """Return the changes in demo/histories/HISTORY, by their Subversion numbers."""
    directory = _PACKAGE / "histories" / history
    names = sorted(entry.name for entry in directory.iterdir() if entry.name.startswith("r"))
    return tuple(_change(name, (directory / name).read_text(encoding="utf-8")) for name in names)


def read_patch(history: str, name: str) -> str:
    """Return the text of a patch that stands beside the changes of a history."""
    return (_PACKAGE / "histories" / history / name).read_text(encoding="utf-8")


def _change(name: str, text: str) -> Change:
    head, _, patch = text.partition("\n---\n")
    author, _, message = head.partition("\n\n")
    return Change(
        label=name.removesuffix(".patch"),
        author=author.removeprefix("From: "),
        message=message,
        patches=(patch,),
    )


def patched_commits(
    sources: str, first: Change, changes: Iterable[Change]
) -> Iterator[GeneratedCommit]:
    """Make a commit of the files in demo/SOURCES, then one of each change."""
    files = source_files(sources)
    yield _commit(first, files)
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name)
        git(tree, "init", "--quiet")  # else a repository around it is meant
        for path, text in files.items():
            (tree / path).parent.mkdir(exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
        for change in changes:
            paths = {path for patch in change.patches for path in _apply(tree, patch)}
            changed = {path: (tree / path).read_text(encoding="utf-8") for path in sorted(paths)}
            yield _commit(change, changed)


def source_files(sources: str) -> dict[str, str]:
    """Return the texts of the files in demo/SOURCES, by their paths."""
    return dict(_texts(_PACKAGE / sources, ""))


def _apply(tree: Path, patch: str) -> list[str]:
    counts = git(tree, "apply", "--apply", "--numstat", "-", given=patch)
    return [line.split("\t")[2] for line in counts.splitlines()]


def _commit(change: Change, files: dict[str, str]) -> GeneratedCommit:
    return GeneratedCommit(
        svn=int(change.label.removeprefix("r")),
        author=change.author,
        message=f"{change.message}\n",
        files=files,
    )


def _texts(directory: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif not entry.name.endswith(_NOT_SOURCES):
            yield f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")


IMPORT = Change(
    label="r311840", author="alice", message="Import the embedded kernel: a packet forwarder"
)
SOURCES = "kernel"
CHANGES = read_changes("embedded")
PLANTABLE = {"slowdown": "forwarding", "drops": "lossless", "batching": "latency"}
"""What may be planted there: patches, and the workload that each is seen by."""
LABELS = (IMPORT.label, *(change.label for change in CHANGES))

# What is true of the history, for whoever wants to know whether it was found out.
CULPRIT = "r311849"
DOES_NOT_COMPILE = frozenset({"r311846"})
CRASHES = frozenset({"r311844"})
UNCHANGED = frozenset({"r311843", "r311850"})  # the program is its predecessor's, byte for byte


def make_embedded_history(
    path: Path, culprit: str = CULPRIT, planted: str = "slowdown"
) -> dict[str, str]:
    """Make the bare repository `path`; returns the hash of each label, oldest first.

    `culprit` is the commit that gets what is planted, one of PLANTABLE. The messages stay as they
    are: the one of r311849 suggests what it need not do.
    """
    if culprit not in LABELS[1:]:
        raise UsageError(
            f"no commit {quoted(culprit)}", hint=f"there are {LABELS[1]} to {LABELS[-1]}"
        )
    patch = read_patch("embedded", f"{planted}.patch")
    changes = [
        replace(change, patches=(*change.patches, patch)) if change.label == culprit else change
        for change in CHANGES
    ]
    return write_history(path, list(patched_commits(SOURCES, IMPORT, changes)))
