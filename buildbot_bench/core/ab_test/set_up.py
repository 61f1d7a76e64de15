"""Published boots of each variant, and the facts of the lab in which variants differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from buildbot_bench.core.profile import Profile
from buildbot_bench.core.run_logs import RunLogs

NOT_TOLD = "(not told)"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedBoot:
    """The logs of one boot that gave a value; `whole` when nothing of them is missing."""

    ordinal: int
    logs: RunLogs
    whole: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedVariant:
    """What is published of one variant on one testbed and workload.

    `image` is what it is called in file names, `values` are in the order measured, `facts` those
    that the lab reported of its own boots; `profile` is its capture, if there is one.
    """

    label: str
    image: str
    values: tuple[float, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    boots: tuple[PublishedBoot, ...] = ()
    profile: Profile | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedSeries:
    """All variants on one workload."""

    workload: str
    unit: str
    variants: tuple[PublishedVariant, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetUpRow:
    """One fact of the lab under one workload; `workload` is empty when it is the same under all.

    `values` are those of each variant, the base's first, NOT_TOLD for a boot that did not tell, and
    null for a variant of which nothing is reported. It `differs` when the variants do not share it.
    """

    name: str
    workload: str
    values: tuple[str | None, ...]
    differs: bool


def set_ups(all_series: Sequence[PublishedSeries]) -> tuple[SetUpRow, ...]:
    """What the lab reported of the variants' own boots, in that order; equal rows once."""
    names = dict.fromkeys(
        name for series in all_series for variant in series.variants for name in variant.facts
    )
    return tuple(row for name in names for row in _rows_of(name, all_series))


def told(row: SetUpRow, labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each value of a row with what it is of, in words; once, and of nothing, when all share it."""
    sides = zip(labels, row.values, strict=True)
    known = [(label, value) for label, value in sides if value is not None]
    if not row.differs:
        yield row.workload, known[0][1]
        return
    for label, value in known:
        yield ", ".join(filter(None, (label, row.workload))), value


def _rows_of(name: str, all_series: Sequence[PublishedSeries]) -> Iterator[SetUpRow]:
    by_workload = {
        series.workload: tuple(
            variant.facts.get(name, NOT_TOLD) if variant.facts else None
            for variant in series.variants
        )
        for series in all_series
        if any(variant.facts for variant in series.variants)
    }
    shared = _shared(list(by_workload.values()))
    rows = by_workload if shared is None else {"": shared}
    for workload, values in rows.items():
        differs = len({value for value in values if value is not None}) > 1
        yield SetUpRow(name=name, workload=workload, values=values, differs=differs)


def _shared(rows: Sequence[tuple[str | None, ...]]) -> tuple[str | None, ...] | None:
    """One row that says what all say; none when two contradict each other."""
    found: list[str | None] = []
    for column in zip(*rows, strict=True):
        values = {value for value in column if value is not None}
        if len(values) > 1:
            return None
        found.append(next(iter(values), None))
    return tuple(found)
