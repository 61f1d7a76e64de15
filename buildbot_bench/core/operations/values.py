"""Values that no release writes: unknown words, unreadable JSON, wrong digests, gaps in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from buildbot_bench.core.operations.records import Gap, UnreadableValue, WrongDigest
from buildbot_bench.core.operations.violations import Violation

_BACKUP = "restore the newest backup that verify calls whole"
_SHOWN = 12  # digits of a digest


def check_values(unreadable: Iterable[UnreadableValue]) -> Iterator[Violation]:
    """Report each value that keeps programs from reading its row."""
    for one in unreadable:
        yield Violation(
            check="values",
            row=f"{one.table} {one.row_id}",
            problem=f"{one.column} is {one.value}, which is not {one.wanted}",
            next=f"{_BACKUP}, or set the column to what it was",
        )


def check_digests(wrong: Iterable[WrongDigest]) -> Iterator[Violation]:
    """Report each digest that is not that of what it names."""
    for one in wrong:
        yield Violation(
            check="digests",
            row=one.row,
            problem=f"{one.column} is {one.told[:_SHOWN] or 'empty'}, but {one.of} has"
            f" {one.found[:_SHOWN]}",
            next=f"{_BACKUP}: one of the two was changed since",
        )


def check_sequences(gaps: Iterable[Gap]) -> Iterator[Violation]:
    """Report each row that does not follow the one before it."""
    for one in gaps:
        yield Violation(
            check="sequences",
            row=one.row,
            problem=f"does not follow what is before it: {one.missing}",
            next=f"{_BACKUP}, or put the missing row back",
        )
