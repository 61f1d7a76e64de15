"""Text fitted into the columns of a mail or a terminal."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import wcwidth

from buildbot_bench.core.legible import display_width

_BLANK = re.compile(r" (?!%)")
WIDTH = 78  # two short of 80, so that a quoted mail still fits


def wrap(text: str, *, first: str = "", rest: str | None = None, width: int = WIDTH) -> str:
    """Break a text between words into lines of at most `width` terminal columns.

    The first line begins with `first`, the others with `rest` (as many blanks as `first` has,
    unless given). A word wider than a line is broken. Wide characters count as two columns, which
    the standard library's textwrap does not know.
    """
    indent = " " * display_width(first) if rest is None else rest
    lines: list[str] = []
    line = first
    empty = True
    for word in _pieces(text, width - max(display_width(first), display_width(indent))):
        glue = "" if empty else " "
        if not empty and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line, glue = indent, ""
        line += glue + word
        empty = False
    return "\n".join([*lines, line.rstrip()])


def moment(at_s: float) -> str:
    """Seconds since the epoch as `2026-11-21 00:16:24`, in UTC."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def columns(rows: Sequence[Sequence[str]], sides: str) -> Iterator[str]:
    """The rows as lines of aligned columns; of each `sides` says whether it stands left or right.

    `lr` are a name and its figure. Lines are as wide as the widest, in terminal columns.
    """
    widths = [max(map(wcwidth.width, column)) for column in zip(*rows, strict=True)]
    put = [wcwidth.ljust if side == "l" else wcwidth.rjust for side in sides]
    for row in rows:
        cells = zip(put, row, widths, strict=True)
        yield "  ".join(place(cell, width) for place, cell, width in cells)


def _pieces(text: str, room: int) -> Iterator[str]:
    """The words of a text, those wider than `room` columns broken; `5 %` is one word."""
    for word in _BLANK.split(" ".join(text.split())):
        piece = ""
        for character in word:
            if piece and display_width(piece) + display_width(character) > room:
                yield piece
                piece = ""
            piece += character
        if piece:
            yield piece
