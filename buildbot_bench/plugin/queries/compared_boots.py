"""The boots that count for a comparison, by series, variant and image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from buildbot_bench.core.compare import (
    BootLog,
    SeriesValues,
    left_out,
    of_newest_epoch,
    recorded_boots,
)
from buildbot_bench.core.item import ItemUnderTest, item_of
from buildbot_bench.core.run_logs import split_logs
from buildbot_bench.core.run_times import RunTimes
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.lab.pktgen import Unusable, parse_receiver
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.rows import IterationRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.items import item_on

SeriesName = tuple[str, str]


async def measured_by(farm: Farm, ab_test: AbTestRow) -> list[IterationRow]:
    """What counts for a comparison, in the order measured: its own boots, and what was known.

    Known are boots of its further images from before it began, such as a search's, in the epoch in
    which it measures the series itself: those need not be made again.
    """
    own = await farm.store.iterations_of_ab_test(ab_test.id)
    if not ab_test.further:
        return own
    epochs = {(row.testbed, row.workload): row.epoch for row in own if row.value is not None}
    places = {series: images_of(ab_test, series) for series in ab_test.series_names}
    known = [
        row
        for row in await farm.store.known_iterations(ab_test.id)
        if (row.image_id, row.tunables) in places.get((row.testbed, row.workload), {})
        and row.epoch == epochs.get((row.testbed, row.workload))
    ]
    return sorted([*known, *own], key=lambda row: (row.at_s, row.id))


def images_of(ab_test: AbTestRow, series: SeriesName) -> dict[tuple[int, str], tuple[int, int]]:
    """By image and tunables which variant and which of its images that is, of one series."""
    first = {variant.kernel: (place, 0) for place, variant in enumerate(ab_test.variants)}
    further = {
        (one.image_id, ab_test.variants[one.place].tunables): (one.place, one.number)
        for one in ab_test.further_of(*series)
    }
    return further | first


def boots_done(
    ab_test: AbTestRow, iterations: Sequence[IterationRow]
) -> dict[SeriesName, list[Counter[int]]]:
    """How many boots of each variant, by image, gave a value in the newest epoch of a series.

    Those of earlier epochs are to be made again: the lab was another one.
    """
    found: dict[SeriesName, list[Counter[int]]] = {}
    for series, rows in _by_series(ab_test, iterations).items():
        images = images_of(ab_test, series)
        found[series] = [Counter() for _ in ab_test.variants]
        for row in of_newest_epoch(rows)[0]:
            place, image = images[row.image_id, row.tunables]
            found[series][place][image] += 1
    return found


def _by_series(
    ab_test: AbTestRow, iterations: Sequence[IterationRow]
) -> dict[SeriesName, list[IterationRow]]:
    """Those that gave a value, in the order measured."""
    found: dict[SeriesName, list[IterationRow]] = {series: [] for series in ab_test.series_names}
    for row in iterations:
        if row.value is not None:
            found[row.testbed, row.workload].append(row)
    return found


async def read_values(
    farm: Farm, ab_test: AbTestRow, iterations: Sequence[IterationRow], series: SeriesName
) -> SeriesValues:
    """The values of one series and epoch, in the unit in which most of them are."""
    rows, others = of_newest_epoch(_by_series(ab_test, iterations)[series])
    units = [row.unit for row in rows]
    unit = max(units, key=units.count, default=PPS.unit)
    testbed, workload = series
    metric = await farm.store.metric_of(testbed=testbed, workload=workload, unit=unit)
    item = item_of(rows[0].facts) if rows else await item_on(farm, testbed)
    return _series_values(ab_test, series, metric, (rows, others), item)


def _series_values(
    ab_test: AbTestRow,
    series: SeriesName,
    metric: Metric,
    of_newest: tuple[Sequence[IterationRow], Sequence[IterationRow]],
    item: ItemUnderTest,
) -> SeriesValues:
    rows, others = of_newest
    images = images_of(ab_test, series)
    counted = [
        (*images[row.image_id, row.tunables], row) for row in rows if row.unit == metric.unit
    ]
    epoch = rows[0].epoch if rows else ""
    labels = [variant.label for variant in ab_test.variants]
    of_others = ((labels[images[row.image_id, row.tunables][0]], row.epoch) for row in others)
    note = left_out(of_others, epoch, item)
    again = f"; measure what is missing by `bench-compare --extend {ab_test.id}`"
    lacking = len({place for place, _, _ in counted}) < len(labels)
    testbed, workload = series
    return SeriesValues(
        testbed=testbed,
        workload=workload,
        metric=metric,
        values=tuple(
            tuple(row.value for at, _, row in counted if at == place and row.value is not None)
            for place in range(len(labels))
        ),
        booted=tuple(
            tuple(image for at, image, _ in counted if at == place) for place in range(len(labels))
        ),
        times=tuple(
            tuple(
                times
                for at, _, row in counted
                if at == place and (times := RunTimes.heard(row.times)) is not None
            )
            for place in range(len(labels))
        ),
        order=tuple(place for place, _, _ in counted),
        epoch=epoch,
        facts=dict(rows[0].facts) if rows else {},
        item=item,
        note=note + (again if note and lacking else ""),
        recorded=recorded_boots([(place, row.facts) for place, _, row in counted], len(labels)),
    )


async def boots_of(farm: Farm, ab_test: AbTestRow) -> list[BootLog]:
    """The boots that count; those of a variant and series are numbered in the order measured.

    An iteration that was counted in several units is one boot.
    """
    boots: list[BootLog] = []
    measured = await measured_by(farm, ab_test)
    for series, rows in _by_series(ab_test, measured).items():
        testbed, workload = series
        images = images_of(ab_test, series)
        counts: Counter[int] = Counter()
        known: set[tuple[int, int]] = set()
        for row in of_newest_epoch(rows)[0]:
            if row.value is None or (row.probe_id, row.ordinal) in known:
                continue
            known.add((row.probe_id, row.ordinal))
            place, _ = images[row.image_id, row.tunables]
            counts[place] += 1
            boots.append(
                BootLog(
                    testbed=testbed,
                    workload=workload,
                    variant=place,
                    ordinal=counts[place],
                    log=row.log,
                    whole=row.unit != PPS.unit or _gives(row.log, row.value),
                    facts={name: str(value) for name, value in row.facts.items()},
                )
            )
    return boots


def _gives(log: str, value: float) -> bool:
    """Whether a log does not contradict its boot's value: earlier releases kept its end alone."""
    reading = parse_receiver(split_logs(log).receiver)
    return isinstance(reading, Unusable) or reading.median_pps == value
