"""Texts in answers, which are cleaned of control characters when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_reader import Cleaned
from buildbot_bench.core.legible import long_line, several_lines

Line = Annotated[str, Cleaned(by=long_line)]
Lines = Annotated[str, Cleaned(by=several_lines)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Nouns:
    """What an iteration, an image and the place are called; a farm that says nothing boots."""

    iteration: Line = ItemUnderTest.KERNEL.iteration
    built: Line = ItemUnderTest.KERNEL.built
    place: Line = ItemUnderTest.KERNEL.place
