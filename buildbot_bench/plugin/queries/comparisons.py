"""How comparisons of variants stand, and what their boots told; it changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

from twisted.internet.threads import deferToThread

from buildbot_bench.core.ab_test import (
    AbTestReport,
    BootLog,
    ComparedVariant,
    SeriesValues,
    compose_ab_test,
    left_out,
    markdown,
    of_newest_epoch,
    outcome,
    parts,
    published_series,
    set_ups,
    text,
    title_of,
)
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.legible import spelled_out
from buildbot_bench.core.model import Noise
from buildbot_bench.core.run_logs import split_logs
from buildbot_bench.core.sample import KNOWN_METRICS, PPS, Metric
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.lab.pktgen import Unusable, parse_receiver
from buildbot_bench.plugin.db.finding_rows import AbTestRow
from buildbot_bench.plugin.db.rows import IterationRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, AbTestState, ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.branches import first_branch
from buildbot_bench.plugin.queries.captures import flame_graphs_of
from buildbot_bench.plugin.queries.history import read_series

SeriesName = tuple[str, str]

_OUTCOMES_KEPT = 256


def boots_done(
    ab_test: AbTestRow, iterations: Sequence[IterationRow]
) -> dict[SeriesName, Counter[int]]:
    """How many boots of each variant, by its place, gave a value in the newest epoch of a series.

    Those of earlier epochs are to be made again: the lab was another one.
    """
    return {
        series: Counter(place_of(ab_test, row) for row in of_newest_epoch(rows)[0])
        for series, rows in _by_series(iterations).items()
    }


def _by_series(iterations: Sequence[IterationRow]) -> dict[SeriesName, list[IterationRow]]:
    """Those that gave a value, in the order measured."""
    found: dict[SeriesName, list[IterationRow]] = {}
    for row in iterations:
        if row.value is not None:
            found.setdefault((row.testbed, row.workload), []).append(row)
    return found


def place_of(ab_test: AbTestRow, row: IterationRow) -> int:
    """Which variant an iteration measured: any two differ in image or in tunables."""
    return next(
        place
        for place, variant in enumerate(ab_test.variants)
        if variant.kernel == (row.image_id, row.tunables)
    )


Json = dict[str, Any]


class ComparisonViews:
    """Reads the tables for whoever looks, once: the noise of a series is not learnt again."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._noises: dict[SeriesName, Noise | None] = {}

    async def describe(self, ab_test_id: int) -> Json | None:
        """A comparison as it stands, with its report when it has ended."""
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            return None
        summary = await self.summarise(ab_test)
        if not ab_test.ended:
            nothing: Json = {"report": None, "text": None, "markdown": None, "set_ups": []}
            return summary | nothing | {"patches": await self._patches(ab_test)}
        report = await self.report(ab_test)
        return summary | {
            "report": to_json(report),
            "text": text(report),
            "markdown": markdown(report),
            "set_ups": await _set_ups(self._farm, ab_test, report),
        }

    async def summarise(self, ab_test: AbTestRow) -> Json:
        """The part of a comparison's description that costs little."""
        measured = await self._farm.store.iterations_of_ab_test(ab_test.id)
        return {
            "comparisonid": ab_test.id,
            "state": str(ab_test.state),
            "title": title_of([variant.label for variant in ab_test.variants]),
            "variants": variants_of(ab_test),
            "series": [list(series) for series in ab_test.series],
            "iterations": ab_test.iterations,
            "boots_done": sum(c.total() for c in boots_done(ab_test, measured).values()),
            "boots": len(ab_test.variants) * ab_test.iterations * len(ab_test.series),
            "now": ab_test.detail or ("" if ab_test.ended else await self._activity(ab_test)),
            "created_at": ab_test.created_at,
            "ended_at": ab_test.ended_at,
            "requester": ab_test.requester,
            "outcome": await self._outcome(ab_test, measured) if ab_test.ended else "",
        }

    async def report(self, ab_test: AbTestRow) -> AbTestReport:
        """What a comparison came to so far."""
        rows = await self._farm.store.iterations_of_ab_test(ab_test.id)
        graphs = await flame_graphs_of(self._farm, ab_test)
        return compose_ab_test(
            [
                replace(values, flame_graphs=graphs.get((values.testbed, values.workload), {}))
                for values in await self._measured(ab_test, rows)
            ],
            comparison_id=ab_test.id,
            variants=[
                ComparedVariant(label=variant.label, variant=variant.variant)
                for variant in ab_test.variants
            ],
            iterations=ab_test.iterations,
            confidence=ab_test.confidence,
            min_effect=ab_test.min_effect,
            detail=ab_test.detail or "",
            farm=self._farm.workflow.name,
            url=f"{self._farm.master.config.buildbotURL}api/v2/bench/comparisons/{ab_test.id}",
        )

    async def _outcome(self, ab_test: AbTestRow, rows: Sequence[IterationRow]) -> str:
        measured = await self._measured(ab_test, rows)
        return await deferToThread(
            _cached_outcome,
            tuple(measured),
            tuple(variant.label for variant in ab_test.variants),
            ab_test.confidence,
            ab_test.min_effect,
        )

    async def _measured(
        self, ab_test: AbTestRow, rows: Sequence[IterationRow]
    ) -> list[SeriesValues]:
        return [
            replace(
                _series_values(ab_test, rows, (testbed, workload)),
                images=tuple(variant.image_id for variant in ab_test.variants),
                noise=await self._noise((testbed, workload)),
            )
            for testbed, workload in ab_test.series
        ]

    async def _noise(self, series: SeriesName) -> Noise | None:
        """What the trunk's history of a series tells of boots and layout; None without one."""
        if series not in self._noises:
            history = await read_series(self._farm, *series, await first_branch(self._farm))
            self._noises[series] = history.noise if history.points else None
        return self._noises[series]

    async def _patches(self, ab_test: AbTestRow) -> list[Json]:
        """What is to be approved, as text; empty when nothing is."""
        found: list[Json] = []
        if ab_test.state == AbTestState.AWAITING:
            for digest in await self._held(ab_test):
                patch = await self._farm.store.patch(digest)
                if patch is not None:
                    shown = {"digest": digest, "text": spelled_out(patch.body)}
                    found.append({"origin": patch.origin, **shown})
        return found

    async def _held(self, ab_test: AbTestRow) -> list[str]:
        """The digests of the patches in a comparison's images, each once."""
        images = [await self._farm.store.image(variant.image_id) for variant in ab_test.variants]
        held = [image.variant for image in images if image and image.state == ImageState.HELD]
        return list(dict.fromkeys(d for variant in held for d in parse_recipe(variant).patches))

    async def _activity(self, ab_test: AbTestRow) -> str:
        """What is done for a comparison at this moment, in a few words."""
        if ab_test.state == AbTestState.AWAITING:
            return "its patches await approval"
        for variant in ab_test.variants:
            image = await self._farm.store.image(variant.image_id)
            if image is not None and image.state in {ImageState.WANTED, ImageState.BUILDING}:
                return f"building {image.label}"
        for probe in await self._farm.store.probes_of_ab_test(ab_test.id):
            image = await self._farm.store.image(probe.image_id)
            if probe.state in OPEN_PROBES and image is not None:
                return f"measuring {image.label}: {probe.workload} on {probe.testbed}"
        return "planning"


@lru_cache(maxsize=_OUTCOMES_KEPT)
def _cached_outcome(
    all_series: tuple[SeriesValues, ...],
    labels: tuple[str, ...],
    confidence: float,
    min_effect: float,
) -> str:
    """The list of comparisons is asked for often, and sixteen variants take a third of a second."""
    report = compose_ab_test(
        all_series,
        comparison_id=0,
        variants=[ComparedVariant(label=label, variant=label) for label in labels],
        iterations=0,
        confidence=confidence,
        min_effect=min_effect,
    )
    return outcome(report)


def variants_of(ab_test: AbTestRow) -> list[Json]:
    """The variants as JSON has them, the base first."""
    return [{"label": one.label, "variant": one.variant} for one in ab_test.variants]


def _series_values(
    ab_test: AbTestRow, iterations: Sequence[IterationRow], series: SeriesName
) -> SeriesValues:
    """The values of one series and epoch, in the unit in which most of them are."""
    rows, others = of_newest_epoch(_by_series(iterations).get(series, []))
    units = [row.unit for row in rows]
    unit = max(units, key=units.count, default=PPS.unit)
    counted = [(place_of(ab_test, row), row) for row in rows if row.unit == unit]
    epoch = rows[0].epoch if rows else ""
    labels = [variant.label for variant in ab_test.variants]
    note = left_out(((labels[place_of(ab_test, row)], row.epoch) for row in others), epoch)
    again = f"; measure what is missing by `bench-compare --extend {ab_test.id}`"
    lacking = len({place for place, _ in counted}) < len(labels)
    testbed, workload = series
    return SeriesValues(
        testbed=testbed,
        workload=workload,
        metric=KNOWN_METRICS.get(unit) or Metric(name=unit, unit=unit),
        values=tuple(
            tuple(row.value for at, row in counted if at == place and row.value is not None)
            for place in range(len(labels))
        ),
        order=tuple(place for place, _ in counted),
        epoch=epoch,
        facts=dict(rows[0].facts) if rows else {},
        note=note + (again if note and lacking else ""),
    )


async def boots_of(farm: Farm, ab_test: AbTestRow) -> list[BootLog]:
    """The boots that count; those of a variant and series are numbered in the order measured.

    An iteration that was counted in several units is one boot.
    """
    boots: list[BootLog] = []
    measured = await farm.store.iterations_of_ab_test(ab_test.id)
    for (testbed, workload), rows in _by_series(measured).items():
        counts: Counter[int] = Counter()
        known: set[tuple[int, int]] = set()
        for row in of_newest_epoch(rows)[0]:
            if row.value is None or (row.probe_id, row.ordinal) in known:
                continue
            known.add((row.probe_id, row.ordinal))
            place = place_of(ab_test, row)
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


async def _set_ups(farm: Farm, ab_test: AbTestRow, report: AbTestReport) -> list[Json]:
    """What the lab told of the boots of each variant, by testbed, what differs first."""
    boots = await boots_of(farm, ab_test)
    return [
        {
            "testbed": part.series[0].testbed,
            "variants": [variant.label for variant in report.variants],
            "facts": [
                asdict(row)
                for row in sorted(
                    set_ups(published_series(report, part, boots, {})),
                    key=lambda row: not row.differs,
                )
            ],
        }
        for part in parts(report)
    ]
