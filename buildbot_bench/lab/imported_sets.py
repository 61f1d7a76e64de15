"""The configuration sets in a directory tree of bench-lab.sh.

A set is a directory: files for the DUT's root, or `dut/` and `refendpoint/` with files for each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line
from buildbot_bench.lab.hardware.set_parts import is_empty, parts_of

_NAMED = 5  # files that a remark names; it counts the others


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSet:
    """One configuration set, and whether it has a part for a reference endpoint."""

    name: str
    path: Path
    has_reference: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSets:
    """The sets of a tree in the order of their names, and the files that none of them can use."""

    root: Path
    sets: tuple[ImportedSet, ...]
    unusable: tuple[Path, ...]

    @property
    def remark(self) -> str:
        """How many files cannot be used, and which; empty when all can."""
        if not self.unusable:
            return ""
        names = [one_line(str(path.relative_to(self.root))) for path in self.unusable]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        files = "1 file" if len(names) == 1 else f"{len(names)} files"
        root = one_line(str(self.root), columns=300)
        return f"{files} of {root} cannot be used: {', '.join(names[:_NAMED])}{more}"


def read_sets(root: Path) -> ImportedSets:
    """All sets of a tree."""
    if not root.is_dir():
        raise UsageError(
            f"there is no directory {root}", hint="name the one that bench-lab.sh gets by -c"
        )
    try:
        entries = sorted(root.iterdir())
        sets = [_set(entry) for entry in entries if entry.is_dir()]
        unusable = [entry for entry in entries if not entry.is_dir()]
        unusable += [path for found in sets for path in _unusable(found.path)]
    except OSError as error:
        raise UsageError(f"cannot read {root}: {error}", hint="see its permissions") from error
    if not sets:
        raise UsageError(
            f"{root} holds no configuration set",
            hint="name a directory with a directory for each workload",
        )
    return ImportedSets(root=root, sets=tuple(sets), unusable=tuple(unusable))


def _set(path: Path) -> ImportedSet:
    if is_empty(path):
        raise UsageError(
            f"the configuration set {path} holds no file",
            hint="put its etc/ and boot/ there, or remove it",
        )
    has_reference = parts_of(path).reference is not None
    return ImportedSet(name=path.name, path=path, has_reference=has_reference)


def _unusable(path: Path) -> Iterator[Path]:
    """What lies beside the parts of a set, and what is no file, or one that nobody can read."""
    parts = parts_of(path)
    places = [part for part in (parts.dut, parts.reference) if part is not None]
    for file in sorted(path.rglob("*")):
        if file.is_dir() and not file.is_symlink():
            continue
        belongs = any(file.is_relative_to(place) for place in places)
        if not belongs or not _is_usable(file):
            yield file


def _is_usable(file: Path) -> bool:
    if not file.name.isprintable():
        return False
    return file.is_symlink() or (file.is_file() and os.access(file, os.R_OK))
