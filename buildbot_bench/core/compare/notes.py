"""Notes beside a comparison: boots of other epochs, which are left out, and recorded boots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.report.words import count
from buildbot_bench.core.wire import RECORDED_BOOTS


class InEpoch(Protocol):
    """What was measured while the lab was as its `epoch` says."""

    @property
    def epoch(self) -> str:
        """The label that a person changes when the lab changes."""


BootT = TypeVar("BootT", bound=InEpoch)


def of_newest_epoch(boots: Sequence[BootT]) -> tuple[list[BootT], list[BootT]]:
    """The boots of the epoch in which the last one was measured, and all others.

    `boots` are in the order measured.
    """
    newest = boots[-1].epoch if boots else ""
    return (
        [boot for boot in boots if boot.epoch == newest],
        [boot for boot in boots if boot.epoch != newest],
    )


def left_out(
    others: Iterable[tuple[str, str]], newest: str, item: ItemUnderTest = ItemUnderTest.KERNEL
) -> str:
    """Says what is left out: a label and an epoch for each boot; empty for none."""
    counted = Counter(others)
    if not counted:
        return ""
    boots = ", ".join(
        f"{number} of {label} in {epoch_name(epoch)}" for (label, epoch), number in counted.items()
    )
    total = count(counted.total(), item.iteration)
    changed = f"for the {item.place} changed: {boots}"
    return f"{total} left out, {changed}; these are of {epoch_name(newest)}"


def epoch_name(epoch: str) -> str:
    """An epoch as a sentence names it."""
    return f"epoch {quoted(epoch)}" if epoch else "the epoch without a name"


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
