"""Which files of a commit meet some functions, by their names alone; it compiles and runs nothing.

A name is no proof: the compiler inlines what is called once, and a change of a structure moves the
cycles of functions that no line of the commit names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

# A hunk with what git takes for the line that begins its function; see gitattributes(5).
_HUNK = re.compile(r"@@ -[0-9,]{1,20} \+[0-9,]{1,20} @@ ?(.*)", re.DOTALL)
_FILE = re.compile(r"diff --git a/(.{1,4096}?) b/\1$")
_WORD = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)
_CALLED = re.compile(r"([A-Za-z_]\w{0,200})\s*\(", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Meeting:
    """One file of a commit: the functions that it changes within, likely, and those it names.

    A function that is changed is not told a second time as one that is named.
    """

    path: str
    changed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def meetings(diff: str, names: Collection[str]) -> tuple[Meeting, ...]:
    """The files of a diff, as `git diff -U0` writes it, that meet any of the names.

    Those that change one come first; a file's names stand in the order of `names`.
    """
    found = []
    for path, lines in _files(diff):
        changed, named = _met(lines, frozenset(names))
        if changed or named:
            found.append(
                Meeting(
                    path=path,
                    changed=tuple(name for name in names if name in changed),
                    named=tuple(name for name in names if name in named - changed),
                )
            )
    return tuple(sorted(found, key=lambda meeting: not meeting.changed))


def _files(diff: str) -> Iterator[tuple[str, list[str]]]:
    path, lines = "", list[str]()
    for line in diff.split("\n"):
        if header := _FILE.match(line):
            if path:
                yield path, lines
            path, lines = header[1], []
        else:
            lines.append(line)
    if path:
        yield path, lines


def _met(lines: list[str], names: frozenset[str]) -> tuple[set[str], set[str]]:
    """The names that a file changes within, and those that stand on its changed lines."""
    changed, named = set[str](), set[str]()
    in_hunk = False
    for line in lines:
        if hunk := _HUNK.match(line):
            in_hunk = True
            changed |= names & set(_CALLED.findall(hunk[1])[:1])
        elif in_hunk and line[:1] in {"+", "-"}:
            named |= names & set(_WORD.findall(line))
            if begun := _CALLED.match(line, 1):  # a function begins in the first column
                changed |= names & {begun[1]}
    return changed, named
