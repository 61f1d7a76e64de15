"""The boots of a comparison's newest epoch, and a note on boots of other epochs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.report.words import count


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
