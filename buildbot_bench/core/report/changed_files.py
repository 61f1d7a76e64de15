"""A commit's files and lines within functions whose cost changed, cleaned by `one_line`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from buildbot_bench.core.json_model import Count
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.profile.overlap import ChangedLine, Overlap, overlaps

_MOST_FILES = 5
_MOST_NAMES = 6
# A mail shows so many changed lines of a function, and so many in all.
_LINES_OF_FUNCTION = 10
_MOST_LINES = 40
_PATH_COLUMNS = 100
_NAME_COLUMNS = 48
_LINE_COLUMNS = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedFile:
    """A file of the commit: functions whose share changed and within which it changes a line.

    `named` are such functions that its changed lines but name. `lines` are those within
    `changed`, and `unshown` how many more there are.
    """

    path: str
    changed: tuple[str, ...]
    named: tuple[str, ...]
    lines: tuple[ChangedLine, ...] = ()
    unshown: Count = 0

    @property
    def first_line(self) -> int | None:
        """The first of the lines that the commit puts in; None when it shows none of these."""
        return next((line.new for line in self.lines if line.new is not None), None)


def places_of(diff: str, names: Sequence[str], where: Mapping[str, str]) -> tuple[ChangedFile, ...]:
    """The files of a diff that overlap the functions; `where` has the places of functions."""
    places: list[ChangedFile] = []
    room = _MOST_LINES
    for overlap in overlaps(diff, names, where)[:_MOST_FILES]:
        places.append(_place(overlap, room))
        room -= len(places[-1].lines)
    return tuple(places)


def _place(overlap: Overlap, room: int) -> ChangedFile:
    shown = _first_of_each(overlap.lines)[:room]
    return ChangedFile(
        path=one_line(overlap.path, columns=_PATH_COLUMNS),
        changed=_names(overlap.changed),
        named=_names(overlap.named),
        lines=tuple(_line(line) for line in shown),
        unshown=len(overlap.lines) - len(shown),
    )


def _first_of_each(lines: Sequence[ChangedLine]) -> list[ChangedLine]:
    """The first lines of each function."""
    seen: Counter[str] = Counter()
    kept = []
    for line in lines:
        seen[line.function] += 1
        if seen[line.function] <= _LINES_OF_FUNCTION:
            kept.append(line)
    return kept


def _names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(one_line(name, columns=_NAME_COLUMNS) for name in names[:_MOST_NAMES])


def _line(line: ChangedLine) -> ChangedLine:
    return replace(
        line,
        function=one_line(line.function, columns=_NAME_COLUMNS),
        text=one_line(line.text, columns=_LINE_COLUMNS),
    )
