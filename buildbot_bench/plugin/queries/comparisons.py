"""How comparisons of variants stand, and what their boots told; it changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from buildbot_bench.core.ab_test import (
    AbTestReport,
    AbTestSide,
    BootLog,
    SeriesValues,
    compose_ab_test,
    markdown,
    outcome,
    parts,
    published_series,
    set_ups,
    text,
)
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.legible import spelled_out
from buildbot_bench.core.run_logs import split_logs
from buildbot_bench.core.sample import KNOWN_METRICS, PPS, Metric
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.lab.pktgen import Unusable, parse_receiver
from buildbot_bench.plugin.db.finding_rows import AbTestRow
from buildbot_bench.plugin.db.rows import IterationRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, AbTestState, ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.captures import flame_graphs_of

SeriesName = tuple[str, str]


def sides_done(
    ab_test: AbTestRow, iterations: Sequence[IterationRow]
) -> dict[SeriesName, Counter[AbTestSide]]:
    """How many boots of each side gave a value, in each series."""
    done: dict[SeriesName, Counter[AbTestSide]] = {}
    for row in iterations:
        if row.value is not None:
            done.setdefault((row.testbed, row.workload), Counter())[side_of(ab_test, row)] += 1
    return done


def side_of(ab_test: AbTestRow, row: IterationRow) -> AbTestSide:
    """Which variant an iteration measured; the two differ in image or in tunables."""
    is_base = (row.image_id, row.tunables) == (ab_test.base_image_id, ab_test.base_tunables)
    return AbTestSide.BASE if is_base else AbTestSide.NEW


Json = dict[str, Any]


class ComparisonViews:
    """Reads the tables for whoever looks."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

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
            "base": ab_test.base_label,
            "new": ab_test.new_label,
            "series": [list(series) for series in ab_test.series],
            "iterations": ab_test.iterations,
            "boots_done": sum(row.value is not None for row in measured),
            "boots": 2 * ab_test.iterations * len(ab_test.series),
            "now": ab_test.detail or ("" if ab_test.ended else await self._activity(ab_test)),
            "created_at": ab_test.created_at,
            "ended_at": ab_test.ended_at,
            "requester": ab_test.requester,
            "outcome": outcome(await self.report(ab_test)) if ab_test.ended else "",
        }

    async def report(self, ab_test: AbTestRow) -> AbTestReport:
        """What a comparison came to so far."""
        rows = await self._farm.store.iterations_of_ab_test(ab_test.id)
        graphs = await flame_graphs_of(self._farm, ab_test)
        return compose_ab_test(
            [
                replace(_series_values(ab_test, rows, *series), flame_graphs=graphs.get(series))
                for series in ((testbed, workload) for testbed, workload in ab_test.series)
            ],
            comparison_id=ab_test.id,
            base=ab_test.base_label,
            new=ab_test.new_label,
            iterations=ab_test.iterations,
            confidence=ab_test.confidence,
            min_effect=ab_test.min_effect,
            detail=ab_test.detail or "",
            farm=self._farm.workflow.name,
            url=f"{self._farm.master.config.buildbotURL}api/v2/bench/comparisons/{ab_test.id}",
        )

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
        images = [
            await self._farm.store.image(number)
            for number in (ab_test.base_image_id, ab_test.new_image_id)
        ]
        held = [image.variant for image in images if image and image.state == ImageState.HELD]
        return list(dict.fromkeys(d for variant in held for d in parse_recipe(variant).patches))

    async def _activity(self, ab_test: AbTestRow) -> str:
        """What is done for a comparison at this moment, in a few words."""
        if ab_test.state == AbTestState.AWAITING:
            return "its patches await approval"
        for number in (ab_test.base_image_id, ab_test.new_image_id):
            image = await self._farm.store.image(number)
            if image is not None and image.state in {ImageState.WANTED, ImageState.BUILDING}:
                return f"building {image.label}"
        for probe in await self._farm.store.probes_of_ab_test(ab_test.id):
            image = await self._farm.store.image(probe.image_id)
            if probe.state in OPEN_PROBES and image is not None:
                return f"measuring {image.label}: {probe.workload} on {probe.testbed}"
        return "planning"


def _series_values(
    ab_test: AbTestRow, rows: list[IterationRow], testbed: str, workload: str
) -> SeriesValues:
    """The values of one series, in the unit in which most of them are."""
    here = [row for row in rows if (row.testbed, row.workload) == (testbed, workload)]
    units = [row.unit for row in here if row.value is not None]
    unit = max(units, key=units.count, default=PPS.unit)
    values: dict[AbTestSide, list[float]] = {side: [] for side in AbTestSide}
    for row in here:
        if row.value is not None and row.unit == unit:
            values[side_of(ab_test, row)].append(row.value)
    return SeriesValues(
        testbed=testbed,
        workload=workload,
        metric=KNOWN_METRICS.get(unit) or Metric(name=unit, unit=unit),
        base=tuple(values[AbTestSide.BASE]),
        new=tuple(values[AbTestSide.NEW]),
        facts=dict(here[0].facts) if here else {},
    )


async def boots_of(farm: Farm, ab_test: AbTestRow) -> list[BootLog]:
    """The boots that gave a value; those of a side and series are counted in the order measured.

    An iteration that was counted in several units is one boot.
    """
    counts: Counter[tuple[str, str, AbTestSide]] = Counter()
    known: set[tuple[int, int]] = set()
    boots: list[BootLog] = []
    for row in await farm.store.iterations_of_ab_test(ab_test.id):
        if row.value is None or (row.probe_id, row.ordinal) in known:
            continue
        known.add((row.probe_id, row.ordinal))
        side = side_of(ab_test, row)
        key = (row.testbed, row.workload, side)
        counts[key] += 1
        boots.append(
            BootLog(
                testbed=row.testbed,
                workload=row.workload,
                side=side,
                ordinal=counts[key],
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
            "facts": [
                asdict(fact)
                for fact in sorted(
                    set_ups(published_series(report, part, boots, {})),
                    key=lambda fact: not fact.differs,
                )
            ],
        }
        for part in parts(report)
    ]
