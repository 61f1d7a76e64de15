"""The parts of a source tree that a tool chain was built from, by its dependency files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from buildbot_bench.build.dependency_files import is_freebsd_list, listed_by_compilers

# What no compiler tells of: the rules of make, its own source, and the headers that are copied.
_RULES = ("share/mk", "tools/build", "tools/build/mk", "contrib/bmake")
_COPIED = "tools/build/Makefile"
_COPIED_FILE = re.compile(r"\$\{SRCTOP\}/([\w./+-]+)")
# Kernel sources are looked at one by one; of other directories all that lies beside counts, as
# grammars and scripts do, which no compiler reads.
_KERNEL = "sys/"
_IS_PAGE = re.compile(r".*\.[1-9]", re.DOTALL)


def inputs(source: Path, objects: Path) -> dict[str, str]:
    """Each place of the source tree that the objects were made from, with its digest.

    A place is a file of the kernel's tree, or a directory, without those below it.
    """
    places = {*_RULES, *_copied_files(source), *_makefiles(source)}
    for name in listed_by_compilers(source, objects, is_freebsd_list).files:
        places.add(name if name.startswith(_KERNEL) else os.path.dirname(name))  # noqa: PTH120
    return {place: digest for place in sorted(places) if (digest := _digest(source / place))}


def same_inputs(source: Path, places: Mapping[str, str]) -> bool:
    """Whether all those places are in this tree as they were."""
    return all(_digest(source / place) == digest for place, digest in places.items())


def _copied_files(source: Path) -> Iterator[str]:
    """The headers that are copied for the tools; it is the copies that compilers name."""
    if (source / _COPIED).is_file():
        text = (source / _COPIED).read_text(errors="replace")
        yield from (name for name in _COPIED_FILE.findall(text) if (source / name).is_file())


def _makefiles(source: Path) -> Iterator[str]:
    return (path.name for path in source.glob("Makefile*") if path.is_file())


def _digest(place: Path) -> str:
    """Of a file its content, of a directory the content of its files; empty for neither.

    Pages of the manual are left out.
    """
    if place.is_dir():
        files = sorted(path for path in place.iterdir() if path.is_file())
        pages = (f"{_digest(path)} {path.name}" for path in files if not _IS_PAGE.match(path.name))
        return hashlib.sha256("\n".join(pages).encode(errors="surrogateescape")).hexdigest()
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).hexdigest()
    return ""
