"""In which order the boots of two variants alternate; it knows neither kernels nor testbeds.

The order is A B B A A B B A …: what drifts evenly in the lab, such as its temperature, falls on
both sides alike. It is a function of what is measured already, so that a boot that was lost is
made up for wherever it fell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class AbTestSide(StrEnum):
    """Which of the two variants."""

    BASE = "base"
    NEW = "new"


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Boots of one side in a row."""

    side: AbTestSide
    iterations: int


def order(wanted: int) -> tuple[AbTestSide, ...]:
    """The sides of all boots, `wanted` of each."""
    pattern = (AbTestSide.BASE, AbTestSide.NEW, AbTestSide.NEW, AbTestSide.BASE)
    return tuple(pattern[index % len(pattern)] for index in range(2 * wanted))


def next_block(done: Mapping[AbTestSide, int], wanted: int) -> Block | None:
    """The boots that come next after `done` ones of each side; None when none is missing."""
    left = {side: done.get(side, 0) for side in AbTestSide}
    chosen: AbTestSide | None = None
    length = 0
    for side in order(wanted):
        if left[side] > 0:
            left[side] -= 1
            if chosen is not None:
                break
        elif chosen is None:
            chosen, length = side, 1
        elif side is chosen:
            length += 1
        else:
            break
    return None if chosen is None else Block(side=chosen, iterations=length)
