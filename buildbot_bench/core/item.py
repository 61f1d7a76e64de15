"""What is measured, a kernel or a command, and what a report calls it; it judges nothing."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

COMMAND_FACT = "command"
"""The fact by which a testbed tells that it runs a command."""


class ItemUnderTest(StrEnum):
    """What is built and measured: a kernel that is booted, or files that a command uses."""

    KERNEL = "kernel"
    COMMAND = "command"

    @property
    def iteration(self) -> str:
        """What one iteration is called: `boot`, `run`."""
        return "run" if self is ItemUnderTest.COMMAND else "boot"

    @property
    def iterated(self) -> str:
        """What is done with an image in an iteration: it is `booted`, or `run`."""
        return "run" if self is ItemUnderTest.COMMAND else "booted"

    @property
    def built(self) -> str:
        """What an image is: a `kernel`, a `build`."""
        return "build" if self is ItemUnderTest.COMMAND else "kernel"

    @property
    def place(self) -> str:
        """Where it is measured: in a `lab`, on a `machine`."""
        return "machine" if self is ItemUnderTest.COMMAND else "lab"


def item_of(facts: Collection[str]) -> ItemUnderTest:
    """What is measured, by the names of the facts that a testbed tells of an iteration."""
    return ItemUnderTest.COMMAND if COMMAND_FACT in facts else ItemUnderTest.KERNEL
