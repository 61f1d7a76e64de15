"""The progress of a benchmark: a count on a terminal, nothing in a file."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def counted(items: Iterable[Item], total: int, what: str) -> Iterator[Item]:
    """The same items; how many of them there were stands on the last line of a terminal."""
    shown = sys.stderr.isatty()
    for number, item in enumerate(items, start=1):
        if shown:
            sys.stderr.write(f"\r\x1b[K  {what} {number}/{total}")
            sys.stderr.flush()
        yield item
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
