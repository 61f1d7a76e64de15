"""Histories made by edits: each replaces a text that stands exactly once in its file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unidiff.patch import PatchSet

from buildbot_bench.demo.generated_history import GeneratedCommit, read_patch, source_files

MAIN, NETIF, README = "src/main.c", "src/netif.c", "README.md"


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


def edits_of(patch: str) -> tuple[Edit, ...]:
    """The hunks of a patch as edits."""
    return tuple(
        Edit(path=file.path, old=_text(hunk.source_lines()), new=_text(hunk.target_lines()))
        for file in PatchSet(patch)
        for hunk in file
    )


def _text(lines: Iterable[Any]) -> str:
    return "".join(line.value for line in lines)


SLOWDOWN = edits_of(read_patch("embedded", "slowdown.patch"))
DROPS = edits_of(read_patch("embedded", "drops.patch"))


def edited(files: dict[str, str], edits: Sequence[Edit]) -> dict[str, str]:
    """What the edits change of these files, which are changed as well."""
    changed = {}
    for edit in edits:
        assert files[edit.path].count(edit.old) == 1, edit
        changed[edit.path] = files[edit.path] = files[edit.path].replace(edit.old, edit.new)
    return changed


def edited_commits(
    sources: str, first: Change, changes: Iterable[Change]
) -> Iterator[GeneratedCommit]:
    """A commit of the files in demo/SOURCES as they are, then one for each change."""
    files = source_files(sources)
    for change in (first, *changes):
        changed = edited(files, change.edits)
        yield GeneratedCommit(
            svn=int(change.label.removeprefix("r")),
            author=change.author,
            message=f"{change.message}\n",
            files=dict(files) if change is first else changed,
        )
