"""The item under test, a kernel or a command, and a report's nouns for it."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Self

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
    """What is built and measured: a kernel that is booted, or files that a command uses.

    In reports an `iteration`, one of several builds (an `image`), what it is (`built`) and where it
    is measured (`place`) are called so; what is `iterated` is what a testbed does, `iterating` it.
    """

    iteration: str
    iterated: str
    iterating: str
    image: str
    built: str
    place: str

    KERNEL = ("kernel", "boot", "booted", "booting", "image", "kernel", "lab")
    COMMAND = ("command", "run", "run", "running", "build", "build", "machine")

    def __new__(cls, value: str, *words: str) -> Self:
        """A name with its words, in the order of the attributes."""
        item = str.__new__(cls, value)
        item._value_ = value
        item.iteration, item.iterated, item.iterating, item.image, item.built, item.place = words
        return item

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
