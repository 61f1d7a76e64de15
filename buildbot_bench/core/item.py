"""The item under test, a kernel or a command, and a report's nouns for it."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

COMMAND_FACT = "command"
"""The fact by which a testbed tells that it runs a command."""

RANDOMISED_FACT = "randomised"
"""The fact by which a command's testbed tells what differs from run to run on purpose."""
TOOL_FACT = "printed by"
"""The fact by which it tells which tools printed the values of a suite."""
EXECUTIONS_FACT = "executions a run"
"""The fact by which it tells that a value is the mean of several executions of the command."""
NOTHING = "nothing"
"""How that fact begins where nothing differs."""


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
    def image(self) -> str:
        """What one of several builds of a revision is called: an `image`, a `build`."""
        return "build" if self is ItemUnderTest.COMMAND else "image"

    @property
    def built(self) -> str:
        """What an image is: a `kernel`, a `build`."""
        return "build" if self is ItemUnderTest.COMMAND else "kernel"

    @property
    def place(self) -> str:
        """Where it is measured: in a `lab`, on a `machine`."""
        return "machine" if self is ItemUnderTest.COMMAND else "lab"

    @property
    def iterating(self) -> str:
        """What a testbed does in an iteration: it is `booting`, or `running`."""
        return "running" if self is ItemUnderTest.COMMAND else "booting"

    @property
    def nouns(self) -> dict[str, str]:
        """For those who read JSON: what an iteration, an image and the place are called."""
        return {"iteration": self.iteration, "built": self.built, "place": self.place}


def item_of(facts: Collection[str]) -> ItemUnderTest:
    """What is measured, by the names of the facts that a testbed reports of an iteration."""
    return ItemUnderTest.COMMAND if COMMAND_FACT in facts else ItemUnderTest.KERNEL


def shared_item(items: Iterable[ItemUnderTest]) -> ItemUnderTest:
    """What to call what several testbeds share: a kernel unless all of them run commands."""
    return ItemUnderTest.COMMAND if set(items) == {ItemUnderTest.COMMAND} else ItemUnderTest.KERNEL


def is_randomised(facts: Mapping[str, str]) -> bool:
    """Whether iterations that tell these facts differ on purpose in what moves their layout."""
    said = str(facts.get(RANDOMISED_FACT) or NOTHING)
    return not said.startswith(NOTHING)
