"""The images and boots of a comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from buildbot_bench.core.compare.directory import BootLog, parts, published_series
from buildbot_bench.core.compare.model import ComparisonReport, SeriesValues
from buildbot_bench.core.compare.published import set_ups
from buildbot_bench.core.compare.schedule import (
    ImageBoots,
    VariantPlan,
    left_out,
    of_newest_epoch,
    recorded_boots,
    why_one_image,
)
from buildbot_bench.core.evidence import cannot_relink, is_alike
from buildbot_bench.core.item import ItemUnderTest, item_of
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.core.wire import ONE_IMAGE, FailureKind, split_logs
from buildbot_bench.lab.pktgen import Unusable, parse_receiver
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, ProbeRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import branch_of_commit, first_branch, is_watched
from buildbot_bench.plugin.queries.evidence import item_on

MOST_LOST = 2
"""Further images of a variant that could not be made, after which no other one is tried."""

_UNUSABLE = frozenset({ImageState.UNTESTABLE, ImageState.FAILED})


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownImages:
    """The images of a comparison as the tables have them; `job` is the one that builds.

    `refused` are those that a testbed could not boot, with what it said.
    """

    ab_test: AbTestRow
    images: Sequence[ImageRow]
    job: str
    refused: dict[tuple[int, str], str] = field(default_factory=dict)

    @property
    def plain_positions(self) -> frozenset[int]:
        """Where the plain commits stand that are held against each other; empty for one alone."""
        found = frozenset(image.position for image in self.images if image.variant == image.sha)
        return found if len(found) > 1 else frozenset()

    def plans(self, testbed: str, workload: str) -> list[VariantPlan]:
        """What is asked for of each variant on one series, the base's first."""
        plans = []
        for place in range(len(self.ab_test.variants)):
            further = [
                one for one in self.ab_test.further_of(testbed, workload) if one.place == place
            ]
            lost = {one.number for one in further if self._why_lost(place, one.image_id)}
            boots = {one.number: one.boots for one in further if one.number not in lost}
            first = {0: self.ab_test.iterations}
            plans.append(VariantPlan(boots=first | boots, lost=frozenset(lost)))
        return plans

    def wanted(self, testbed: str, workload: str) -> list[ImageBoots]:
        """How many boots of each image are asked for, by variant."""
        return [plan.boots for plan in self.plans(testbed, workload)]

    def single(self, values: SeriesValues) -> tuple[str, ...]:
        """Why a variant has no further images on a series; '' for one that may have some."""
        why = self._why_none(values)
        return tuple(
            why or self._why_no_more(place, values) for place in range(len(self.ab_test.variants))
        )

    def _why_none(self, values: SeriesValues) -> str:
        said = values.facts.get(ONE_IMAGE, "")
        if not said and cannot_relink(self.images):
            said = (
                f"the job {quoted(self.job)} cannot relink, a further image came out as the first"
            )
        return why_one_image(values.metric, most=self.ab_test.images, otherwise=said)

    def _why_no_more(self, place: int, values: SeriesValues) -> str:
        reasons = [
            why
            for one in self.ab_test.further_of(values.testbed, values.workload)
            if one.place == place and (why := self._why_lost(place, one.image_id))
        ]
        return reasons[-1] if len(reasons) >= MOST_LOST else ""

    def _why_lost(self, place: int, image_id: int) -> str:
        """Why an image cannot be booted; empty when it can, or is being built."""
        variant = self.ab_test.variants[place]
        by_id = {image.id: image for image in self.images}
        image, first = by_id[image_id], by_id.get(variant.image_id)
        if image.state in _UNUSABLE:
            return image.reason or "it cannot be built"
        if first is not None and is_alike(image, first):
            return "it came out as the first"
        return self.refused.get((image_id, variant.tunables), "")


async def known_images(farm: Farm, ab_test: AbTestRow) -> KnownImages:
    """The images that a comparison boots, and what became of them."""
    probes = await farm.store.probes_of_ab_test(ab_test.id) if ab_test.further else []
    images = await farm.store.images_of_ab_test(ab_test.id)
    repository = images[0].repository if images else ""
    return KnownImages(
        ab_test=ab_test,
        images=images,
        job=farm.workflow.build_job_of(repository).name,
        refused=refused_kernels(ab_test, probes),
    )


def refused_kernels(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> dict[tuple[int, str], str]:
    """By image and tunables what a testbed said that could not boot it, since it was resumed."""
    return {
        (probe.image_id, probe.tunables): probe.failure or "it does not boot"
        for probe in since_resumed(ab_test, probes)
        if probe.failure_kind == FailureKind.UNTESTABLE
    }


def since_resumed(ab_test: AbTestRow, probes: Sequence[ProbeRow]) -> list[ProbeRow]:
    """The requests made since a comparison went on last: what failed before is forgiven."""
    since = ab_test.resumed_at
    return [probe for probe in probes if since is None or probe.created_at >= since]


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
    metric = await farm.store.metric_of((testbed, workload), unit)
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


async def branch_of_base(farm: Farm, ab_test: AbTestRow) -> str:
    """The branch whose history tells the noise; the first, of a base that none has."""
    base = await farm.store.image(ab_test.variants[0].image_id)
    if base is None:
        return await first_branch(farm)
    of_base = base.branch
    if of_base is None or not is_watched(of_base):
        of_base = await branch_of_commit(farm, base.sha, base.repository)
    return of_base if is_watched(of_base) else await first_branch(farm, base.repository)


async def set_ups_of(farm: Farm, ab_test: AbTestRow, report: ComparisonReport) -> list[Json]:
    """What the lab reported of the boots of each variant, by testbed, what differs first."""
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
