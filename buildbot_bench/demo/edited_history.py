"""Chains of commits made from a directory's files and a list of edits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from buildbot_bench.demo.generated_history import GeneratedCommit

# What a developer built there.
_NOT_SOURCES = ("kernel", ".o", ".d", ".order", ".read-files")


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One place in one file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One commit of a kernel's history."""

    label: str
    author: str
    message: str
    edits: tuple[Edit, ...] = ()


def edited_commits(
    sources: Traversable, first: Change, changes: Iterable[Change]
) -> Iterator[GeneratedCommit]:
    """A commit of the sources as they are, then one for each change."""
    files = dict(_texts(sources, ""))
    yield _commit(first, files)
    for change in changes:
        changed: dict[str, str] = {}
        for edit in change.edits:
            changed[edit.path] = files[edit.path] = _apply(edit, files[edit.path])
        yield _commit(change, changed)


def _commit(change: Change, files: Mapping[str, str]) -> GeneratedCommit:
    return GeneratedCommit(
        svn=int(change.label.removeprefix("r")),
        author=change.author,
        message=f"{change.message}\n",
        files=dict(files),
    )


def _apply(edit: Edit, text: str) -> str:
    if text.count(edit.old) != 1:
        raise ValueError(f"{edit.path}: {edit.old!r} stands there {text.count(edit.old)} times")
    return text.replace(edit.old, edit.new)


def _texts(directory: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for entry in sorted(directory.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _texts(entry, f"{prefix}{entry.name}/")
        elif not entry.name.endswith(_NOT_SOURCES):
            yield f"{prefix}{entry.name}", entry.read_text(encoding="utf-8")
