"""Commits of a directory's files and of the patches in demo/histories/."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from buildbot_bench.demo.generated_history import GeneratedCommit, git

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
    """Make a commit of the files in demo/SOURCES, then one of each change.

    A patch that does not fit raises CalledProcessError.
    """
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
    """Apply a patch; return the paths that it changes."""
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
