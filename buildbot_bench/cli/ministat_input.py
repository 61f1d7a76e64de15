"""Lines, columns and numbers of an input, read as ministat(1) and C read them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.ministat import MIN_VALUES

# FreeBSD's. A longer line is read in pieces, each of which counts as a line.
_BUFSIZ = 1024

_BLANK = r"[ \t\n\v\f\r]*"
# More digits than C's long can hold are refused.
_INTEGER = re.compile(rf"(?a){_BLANK}[+-]?[0-9]{{1,18}}")
_DECIMAL = re.compile(rf"(?ai){_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(
    rf"(?ai){_BLANK}[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]+)?"
)
_INFINITE = re.compile(rf"(?ai){_BLANK}[+-]?inf(inity)?")
_NAN = re.compile(rf"(?ai){_BLANK}[+-]?nan(\([0-9a-z_]*\))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """Where the numbers stand: the column, counted from 1, and the set of its delimiters."""

    number: int = 1
    delimiters: str = " \t"


def strtod(text: str) -> float | None:
    """Read the whole text as C's strtod reads a number: None when something is left over.

    Hexadecimal, infinite and NaN texts are numbers, Python's underscores are not; the empty
    text is 0.
    """
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return float("inf")
    return float("nan") if _NAN.fullmatch(text) else None


def strtol(text: str) -> int | None:
    """Read the whole text as C's strtol reads a decimal integer; the empty text is 0."""
    if not text:
        return 0
    return int(text) if _INTEGER.fullmatch(text) else None


def atoi(text: str) -> int:
    """Read the integer with which a text begins; 0 when there is none."""
    match = _INTEGER.match(text)
    return int(match[0]) if match else 0


def read_dataset(name: str, stream: BinaryIO, column: Column) -> list[float]:
    """The numbers in one column of an input, in their order."""
    try:
        numbers = list(_numbers(name, stream, column))
    except OSError as error:
        raise UsageError(f"ministat: Cannot read {name}: {error.strerror}") from error
    if len(numbers) < MIN_VALUES:
        raise UsageError(f"Dataset {name} must contain at least {MIN_VALUES} data points")
    return numbers


def _numbers(name: str, stream: BinaryIO, column: Column) -> Iterator[float]:
    for line, token in _tokens(stream, column):
        number = strtod(token)
        if number is None:
            raise UsageError(f"ministat: Invalid data on line {line} in {name}")
        yield number


def _tokens(stream: BinaryIO, column: Column) -> Iterator[tuple[int, str]]:
    """The number of each line that has the column, and the text in it.

    Delimiters collapse as with strtok. A token that begins with # ends its line.
    """
    separator = re.compile(f"[{re.escape(column.delimiters)}]")
    line = 0
    while piece := stream.readline(_BUFSIZ - 1):
        line += 1
        text = os.fsdecode(piece.rstrip())
        tokens = [token for token in separator.split(text) if token][: column.number]
        if len(tokens) == column.number and not any(t.startswith("#") for t in tokens):
            yield line, tokens[-1]
