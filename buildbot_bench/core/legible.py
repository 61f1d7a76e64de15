"""Text from strangers, made harmless to read on any display.

Only the space and characters to which Unicode gives a glyph are visible; all others of the
categories C and Z (controls, bidi overrides, surrogates, private and unassigned characters, other
spaces) are replaced, never dropped, so that a reader sees that something stood there. Every result
is bounded and says where it was cut.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"

LINE_COLUMNS = 160
"""A subject, a name, a value: two lines of a terminal."""
MESSAGE_COLUMNS = 400
"""What a person must be able to read or copy whole: a reason, a command, an address."""
QUOTED_COLUMNS = 80
"""What is quoted within a sentence, in columns of a terminal."""
MOST_CHARACTERS = 4 * 1024 * 1024
"""A text of several lines: more than any report, as much as the largest patch that is taken."""

# Of a text that is quoted, more than is ever shown; a run of the same character is told as one.
_MOST_QUOTED = 10_000
_SEVERAL = 3
_RUNS = re.compile(r"(.)\1*", re.DOTALL)


def one_line(text: str, *, columns: int = LINE_COLUMNS) -> str:
    """Make one line of visible characters out of any text, at most `columns` columns wide.

    White space, line ends included, becomes single spaces; what is not seen becomes U+FFFD; what is
    too long ends in an ellipsis.
    """
    line = " ".join(text.split())
    return shorten(line if line.isprintable() else _replaced(line), columns)


def long_line(text: str) -> str:
    """One line as `one_line` makes it, long enough for a reason, a command or an address."""
    return one_line(text, columns=MESSAGE_COLUMNS)


def quoted(value: object, *, columns: int = QUOTED_COLUMNS) -> str:
    """Quote in a sentence what somebody wrote, as one line that is at most `columns` wide.

    What is not seen is named as in `<U+202E>`, many of the same in a row as in `<64 times U+0000>`.
    What is no text is written as Python writes it.
    """
    text = value if isinstance(value, str) else repr(value)
    named = _RUNS.sub(_name_of_run, text[:_MOST_QUOTED])
    shown = shorten(named, columns)
    if not isinstance(value, str):
        return shown
    mark = '"' if "'" in shown and '"' not in shown else "'"
    return f"{mark}{shown}{mark}"


def _name_of_run(run: re.Match[str]) -> str:
    character, times = run[1], len(run[0])
    if _is_seen(character, ""):
        return run[0]
    name = f"U+{ord(character):04X}"
    return f"<{name}>" * times if times < _SEVERAL else f"<{times} times {name}>"


def several_lines(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """The text with its newlines and tabs, at most `most` characters; all else as in `one_line`."""
    kept = text if len(text) <= most else text[: most - 1] + ELLIPSIS
    return _replaced(kept, but="\n\t")


def spelled_out(body: bytes) -> str:
    """A patch for somebody who is to judge it: what is not seen is named, as in `<U+202E>`.

    Newlines and tabs stay, and nothing is left out: it is as long as `core.patch.check_patch` lets
    a patch be, up to ten characters for one that is not seen. Bytes that are no UTF-8 are U+FFFD.
    Source: Boucher and Anderson, "Trojan Source: Invisible Vulnerabilities" (2021).
    """
    lines = body.decode("utf-8", "replace").split("\n")
    named = _Named()
    return "\n".join(line if line.isprintable() else line.translate(named) for line in lines)


class _Named(dict[int, int | str]):
    """A table for str.translate that names what is not seen; a character is looked at once."""

    def __missing__(self, code: int) -> int | str:
        self[code] = code if _is_seen(chr(code), "\t") else f"<U+{code:04X}>"
        return self[code]


def writable(text: str, encoding: str | None) -> str:
    """What a stream of that encoding, UTF-8 when it has none, can print: `?` for all else."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name)


def display_width(line: str) -> int:
    """How many terminal columns a line takes; combining marks count 1, so it is an upper bound."""
    return len(line) if line.isascii() else sum(_columns(character) for character in line)


def shorten(line: str, columns: int) -> str:
    """Cut a line to a number of terminal columns, with an ellipsis where something is missing."""
    if display_width(line) <= columns:
        return line
    room = columns - 1
    kept = 0
    for character in line:
        room -= _columns(character)
        if room < 0:
            break
        kept += 1
    return line[:kept].rstrip() + ELLIPSIS


def _replaced(text: str, *, but: str = "") -> str:
    return "".join(c if _is_seen(c, but) else REPLACEMENT for c in text)


def _is_seen(character: str, but: str) -> bool:
    return character.isprintable() or character in but


def _columns(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# Spreadsheets take a cell that begins so for a formula; a DUT's last words may begin so.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as RFC 4180 has it; texts that a spreadsheet would compute get a leading quote."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
