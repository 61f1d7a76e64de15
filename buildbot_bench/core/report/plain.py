"""Turns text that strangers wrote into one harmless line; knows not where it will be shown.

Subjects, authors, log lines and names come from people whom nobody checked. Escaping for HTML or
a mail header is the renderer's duty; that nothing moves a cursor, ends a line or turns the reading
direction is settled here, once for mail, page, terminal and JSON.
"""

from __future__ import annotations

from wcwidth import clip, width

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def plain(text: str, *, columns: int = 160) -> str:
    """Make one line of visible characters out of any text, at most `columns` columns wide.

    White space, line ends included, becomes single spaces. What has no glyph (Unicode's
    categories C and Z: control characters, bidi overrides, surrogates, unassigned ones) becomes
    U+FFFD, so that a reader sees that there was something. What is too long ends in an ellipsis.
    """
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(one if one.isprintable() else REPLACEMENT for one in line)
    return shorten(line, columns)


def display_width(line: str) -> int:
    """How many terminal columns a line takes."""
    return width(line)


def shorten(line: str, columns: int) -> str:
    """Cut a line to a number of terminal columns, with an ellipsis where something is missing."""
    if display_width(line) <= columns:
        return line
    return clip(line, 0, columns - 1).rstrip() + ELLIPSIS
