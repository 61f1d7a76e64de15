"""Notes on recorded boots that a driver replays in a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.wire import RECORDED_BOOTS

_NONE = "none"


def recorded_boots(
    boots: Iterable[tuple[int, Mapping[str, Any]]], variants: int
) -> tuple[str, ...]:
    """How the boots of each variant were dealt, as its last one says; empty if none was recorded.

    `boots` are places of variants with the facts of a boot, in the order measured.
    """
    told = [_NONE] * variants
    for place, facts in boots:
        if RECORDED_BOOTS in facts:
            told[place] = one_line(str(facts[RECORDED_BOOTS]))
    return tuple(told) if set(told) != {_NONE} else ()


def recorded_notes(recorded: Sequence[str], labels: Sequence[str]) -> Iterator[str]:
    """The same in words: once, where it is the same of all variants."""
    for told in dict.fromkeys(recorded):
        of = [label for label, own in zip(labels, recorded, strict=True) if own == told]
        whose = "of each variant" if len(of) == len(labels) else f"of {', '.join(of)}"
        yield f"recorded boots {whose}: {told}"
