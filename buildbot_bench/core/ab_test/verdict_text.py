"""A comparison's verdict in a few words, for tables and mails."""

from __future__ import annotations

from buildbot_bench.core.ab_test.verdict import (
    Better,
    ComparedSides,
    NoDifference,
    Undecided,
    WithinLayoutLuck,
    Worse,
)
from buildbot_bench.core.contrast import MOST, MoreOfEach
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.words import count, threshold

NOT_SEPARATED = "not separated from layout"


def verdict_text(found: ComparedSides, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """The verdict, what it is not, and what would tell more: `worse, not separated from layout`."""
    match found.verdict:
        case Worse() | Better():
            said = found.verdict.kind
            return said if found.separated else f"{said}, {NOT_SEPARATED}"
        case NoDifference(least=least):
            return f"no difference of {threshold(least)} or more"
        case Undecided(student="no sign", needs=needs):
            return f"undecided, no difference proven{_needed(needs, item)}"
        case Undecided(student=("better" | "worse") as sign, needs=needs, least=least):
            by = f"undecided whether by {threshold(least)} or more, {sign} by Student's t"
            return by + _needed(needs, item)
        case WithinLayoutLuck(needs=needs) | Undecided(needs=needs):
            return found.verdict.kind + _needed(needs, item)


def _needed(needs: MoreOfEach | None, item: ItemUnderTest) -> str:
    if needs is None:
        return ""
    boots = f"{_number(needs.boots, f'more {item.iteration}')} of each"
    if not needs.images:
        return f": needs {boots}"
    return f": needs {boots}, on {_number(needs.images, 'more image')}"


def _number(number: int, noun: str) -> str:
    """`about 6 more boots`; where it is beyond what is said, `99 more boots or yet more`."""
    return (
        f"{count(number, noun)} or yet more" if number >= MOST else f"about {count(number, noun)}"
    )
