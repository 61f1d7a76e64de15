"""The progress of a benchmark, as a count on a terminal, and the file of its figures."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

OUT = Path(__file__).parent / "out"
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


def keep(name: str, figures: object) -> None:
    """Write a benchmark's figures as benchmarks/out/NAME.json."""
    OUT.mkdir(exist_ok=True)
    text = json.dumps(figures, indent=1)
    (OUT / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
