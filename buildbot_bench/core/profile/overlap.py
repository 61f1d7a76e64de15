"""The files and lines of a commit that overlap given functions.

Functions match by name, which is no proof: compilers inline functions, and a changed structure
moves cycles of functions that the commit does not name.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from unidiff.patch import Hunk, PatchedFile

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Count
from buildbot_bench.core.patch import read_diff
from buildbot_bench.core.profile.model import lies_in

_WORD = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)
_CALLED = re.compile(r"([A-Za-z_]\w{0,200})\s*\(", re.ASCII)
# What style(9) has in the first column: a type, a comment, a declaration or the name of a function.
_OUTSIDE = re.compile(r"[A-Za-z_/]")
_NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedLine:
    """A line that a commit takes out (`old` is its number) or puts in (`new`), never both.

    `function` is the one that it likely lies in, empty outside of all.
    """

    function: str
    old: Count | None
    new: Count | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedFile:
    """A file of the commit: functions whose share changed and within which it changes a line.

    `named` are such functions that its changed lines but name. `lines` are those within
    `changed`, and `unshown` how many more there are.
    """

    path: str
    changed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    lines: tuple[ChangedLine, ...] = ()
    unshown: Count = 0

    @property
    def first_line(self) -> int | None:
        """The first of the lines that the commit puts in; None when it shows none of these."""
        return next((line.new for line in self.lines if line.new is not None), None)


def overlaps(
    diff: str, names: Collection[str], places: Mapping[str, str] = _NOWHERE
) -> tuple[ChangedFile, ...]:
    """The files of a diff, as `git diff -U0` writes it, that overlap any of the names.

    Those that change one come first; a file's names stand in the order of `names`. A function
    whose place (`path:line`) is known is changed in that file and in no other. A damaged diff
    meets none.
    """
    try:
        met = [_overlap(file, names, places) for file in read_diff(diff)]
    except UsageError:
        return ()
    found = [overlap for overlap in met if overlap.changed or overlap.named]
    return tuple(sorted(found, key=lambda overlap: not overlap.changed))


def _overlap(file: PatchedFile, names: Collection[str], places: Mapping[str, str]) -> ChangedFile:
    known = frozenset(names)
    path, lines = file.path, [line for hunk in file for line in _changed_lines(hunk)]
    within = known & {line.function for line in lines}
    words = known & {word for line in lines for word in _WORD.findall(line.text)}
    changed = {name for name in within if name not in places or lies_in(places[name], path)}
    return ChangedFile(
        path=path,
        changed=tuple(name for name in names if name in changed),
        named=tuple(name for name in names if name in words - within),
        lines=tuple(line for line in lines if line.function in changed),
    )


def _changed_lines(hunk: Hunk) -> Iterator[ChangedLine]:
    """The lines of a hunk that are not blank; its header has the line that begins its function."""
    around, side = _first_called(hunk.section_header), ""
    function = around
    for line in hunk:
        if not line.is_added and not line.is_removed:
            continue
        if line.line_type != side:  # the old lines of a hunk stand before the new ones
            function, side = around, line.line_type
        code = line.value.removesuffix("\n")
        function = _function_of(code, function)
        if code.strip():
            yield ChangedLine(
                function=function, old=line.source_line_no, new=line.target_line_no, text=code
            )
        function = "" if code.startswith("}") else function


def _function_of(code: str, before: str) -> str:
    """The function that a line lies in, `before` being that of the line before it."""
    stripped = code.rstrip()
    if not _OUTSIDE.match(code) or stripped.endswith(":"):  # a label is within
        return before
    return "" if code[0] == "/" or stripped.endswith(";") else _first_called(code)


def _first_called(code: str) -> str:
    called = _CALLED.search(code)
    return called[1] if called else ""
