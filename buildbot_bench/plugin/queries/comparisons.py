"""The state, values, report and result files of comparisons, for pages, REST and commands."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from buildbot_bench.api.answers import (
    AbTestState,
    ComparisonSummary,
    HeldPatch,
    Nouns,
    VariantShown,
)
from buildbot_bench.core.compare.directory import (
    GRAPH,
    Part,
    Profiles,
    flame_graph_names,
    image_names,
    parts,
    result_files,
)
from buildbot_bench.core.compare.model import (
    ComparedVariant,
    ComparisonReport,
    SeriesReport,
    SeriesValues,
    title_of,
)
from buildbot_bench.core.compare.published import capture_name
from buildbot_bench.core.compare.report import compose_comparison, outcome_of
from buildbot_bench.core.compare.text import markdown, text
from buildbot_bench.core.json_model import Json, shared, to_json
from buildbot_bench.core.legible import spelled_out
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.profile.functions import cost_ratio
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.sharing import WaitForBuild, WaitForDecision, what_it_waits_for
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import OPEN_PROBES, UNBUILT, ImageState, ProfileState
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.captures import flame_graphs_of, taken
from buildbot_bench.plugin.queries.compared_boots import (
    KnownImages,
    boots_done,
    boots_of,
    branch_of_base,
    known_images,
    measured_by,
    read_values,
    set_ups_of,
)
from buildbot_bench.plugin.queries.evidence import item_of_comparison
from buildbot_bench.plugin.queries.history import noise_without
from buildbot_bench.plugin.queries.waits import Waits, waits
from buildbot_bench.render.flamegraph import flame_difference, flame_graph
from buildbot_bench.render.plots.canvas import Format
from buildbot_bench.render.plots.distribution import MedianGroup, medians


class ComparisonViews:
    """Reads the tables for a reader, once: the noise of a series is not learnt again."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._waits: Waits | None = None
        self._noises: dict[tuple[SeriesName, str, frozenset[int]], Noise | None] = {}

    async def describe(self, ab_test_id: int) -> Json | None:
        """A comparison as it stands, with its report when it has ended."""
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            return None
        self._waits = None
        summary = await self.summarise(ab_test)
        if not ab_test.ended:
            nothing: Json = {"report": None, "text": None, "markdown": None, "set_ups": []}
            return summary | nothing | {"patches": await self._patches(ab_test)}
        report = await self.report(ab_test)
        return summary | {
            "report": to_json(report),
            "text": text(report),
            "markdown": markdown(report),
            "set_ups": await set_ups_of(self._farm, ab_test, report),
        }

    async def summarise(self, ab_test: AbTestRow) -> Json:
        """The part of a comparison's description that costs little."""
        measured = await measured_by(self._farm, ab_test)
        known = await known_images(self._farm, ab_test)
        wanted = {series: known.wanted(*series) for series in ab_test.series_names}
        done = boots_done(ab_test, measured)
        waits_for = await self._waits_for(ab_test, known.images)
        shown = ComparisonSummary(
            comparisonid=ab_test.id,
            **shared(ComparisonSummary, ab_test)
            | {"variants": variants_of(ab_test), "series": tuple(ab_test.series_names)},
            title=title_of([variant.label for variant in ab_test.variants]),
            boots_done=sum(
                min(boots, wanted[series][place].get(image, 0))
                for series, by_place in done.items()
                for place, images in enumerate(by_place)
                for image, boots in images.items()
            ),
            boots=sum(sum(own.values()) for by_place in wanted.values() for own in by_place),
            now=ab_test.detail
            or ("" if ab_test.ended else await self._activity(ab_test, known.images, waits_for)),
            waits_for=waits_for,
            nouns=Nouns(**(await item_of_comparison(self._farm, ab_test)).nouns),
            outcome=await self._outcome(ab_test, measured, known) if ab_test.ended else "",
        )
        return to_json(shown)

    async def report(self, ab_test: AbTestRow) -> ComparisonReport:
        """What a comparison came to so far."""
        rows = await measured_by(self._farm, ab_test)
        known = await known_images(self._farm, ab_test)
        graphs = await flame_graphs_of(self._farm, ab_test)
        return await calculate(
            compose_comparison,
            [
                replace(values, flame_graphs=graphs.get((values.testbed, values.workload), {}))
                for values in await self._measured(ab_test, rows, known)
            ],
            comparison_id=ab_test.id,
            variants=[
                ComparedVariant(label=variant.label, variant=variant.variant)
                for variant in ab_test.variants
            ],
            iterations=ab_test.iterations,
            images=ab_test.images,
            confidence=ab_test.confidence,
            min_effect=ab_test.min_effect,
            detail=ab_test.detail or "",
            farm=self._farm.workflow.name,
            url=f"{self._farm.master.config.buildbotURL}api/v2/bench/comparisons/{ab_test.id}",
        )

    async def _outcome(
        self, ab_test: AbTestRow, rows: Sequence[IterationRow], known: KnownImages
    ) -> str:
        measured = await self._measured(ab_test, rows, known)
        return await calculate(
            outcome_of,
            tuple(measured),
            tuple(variant.label for variant in ab_test.variants),
            ab_test.confidence,
            ab_test.min_effect,
        )

    async def values(
        self, ab_test: AbTestRow, series: SeriesName, known: KnownImages
    ) -> SeriesValues:
        """What was measured of one series."""
        return await self._values(ab_test, await measured_by(self._farm, ab_test), series, known)

    async def _measured(
        self, ab_test: AbTestRow, rows: Sequence[IterationRow], known: KnownImages
    ) -> list[SeriesValues]:
        return [await self._values(ab_test, rows, series, known) for series in ab_test.series_names]

    async def _values(
        self,
        ab_test: AbTestRow,
        rows: Sequence[IterationRow],
        series: SeriesName,
        known: KnownImages,
    ) -> SeriesValues:
        values = await read_values(self._farm, ab_test, rows, series)
        return replace(
            values,
            kernels=tuple(variant.image_id for variant in ab_test.variants),
            single=known.single(values),
            noise=await self.noise(series, known),
        )

    async def noise(self, series: SeriesName, known: KnownImages) -> Noise | None:
        """What the base's branch's history of a series tells of boots and layout, or None.

        Commits that are held against each other teach nothing: they may differ.
        """
        branch = await branch_of_base(self._farm, known.ab_test)
        key = (series, branch, known.plain_positions)
        if key not in self._noises:
            self._noises[key] = await noise_without(self._farm, *key)
        return self._noises[key]

    async def _patches(self, ab_test: AbTestRow) -> list[Json]:
        """What is to be approved, as text; empty when nothing is."""
        found: list[Json] = []
        if ab_test.state == AbTestState.AWAITING:
            for digest in await self._held(ab_test):
                patch = await self._farm.store.patch(digest)
                if patch is not None:
                    text = await calculate(spelled_out, patch.body)
                    held = HeldPatch(origin=patch.origin, digest=digest, text=text)
                    found.append(to_json(held))
        return found

    async def _held(self, ab_test: AbTestRow) -> list[str]:
        """The digests of the patches in a comparison's images, each once."""
        images = [await self._farm.store.image(variant.image_id) for variant in ab_test.variants]
        held = [image.variant for image in images if image and image.state == ImageState.HELD]
        return list(dict.fromkeys(d for variant in held for d in parse_recipe(variant).patches))

    async def _waits_for(self, ab_test: AbTestRow, images: Sequence[ImageRow]) -> str:
        """What one waits for; empty when it waits for nothing. A list asks for all at once."""
        if ab_test.ended:
            return ""
        if ab_test.state == AbTestState.AWAITING:
            return what_it_waits_for(WaitForDecision(by="approval"))
        self._waits = self._waits or await waits(self._farm)
        unbuilt = (i for i in images if i.state in UNBUILT)
        if (image := next(unbuilt, None)) is not None and ab_test.id not in self._waits.ab_tests:
            unknown = what_it_waits_for(WaitForBuild(label=image.label))
            return self._waits.images.get(image.id, unknown)
        return self._waits.ab_tests.get(ab_test.id, "")

    async def _activity(
        self, ab_test: AbTestRow, images: Sequence[ImageRow], waits_for: str
    ) -> str:
        """What is done for a comparison at this moment, in a few words."""
        if ab_test.state == AbTestState.AWAITING:
            return "its patches await approval"
        for image in images:
            if image.state in UNBUILT:
                further = f", image {image.ordinal}" if image.ordinal else ""
                return f"building {image.label}{further}"
        by_id = {image.id: image for image in images}
        for probe in await self._farm.store.probes_of_ab_test(ab_test.id):
            if probe.state in OPEN_PROBES and probe.image_id in by_id:
                if waits_for:
                    return waits_for
                label = by_id[probe.image_id].label
                return f"measuring {label}: {probe.workload} on {probe.testbed}"
        return "planning"


def variants_of(ab_test: AbTestRow) -> tuple[VariantShown, ...]:
    """The variants as REST shows them, the base first."""
    return tuple(VariantShown(label=one.label, variant=one.variant) for one in ab_test.variants)


_GRAPH_SVG = GRAPH.replace(".png", ".svg")


async def directory_of(farm: Farm, ab_test: AbTestRow) -> list[Json]:
    """The files of what was measured so far, by their paths: texts, and pictures in base64."""
    report = await ComparisonViews(farm).report(ab_test)
    profiles = await _profiles(farm, ab_test)
    boots = await boots_of(farm, ab_test)
    texts = await calculate(result_files, report, boots, profiles)
    for part in parts(report):
        texts |= await _flame_graphs(report, part, profiles)
    rows: list[Json] = [{"path": path, "text": text} for path, text in texts.items()]
    for part in parts(report):
        if part.measured:
            for name, form in ((GRAPH, Format.PNG), (_GRAPH_SVG, Format.SVG)):
                picture = await _graph(report, part, form)
                packed = base64.b64encode(picture).decode("ascii")
                rows.append({"path": f"{part.place}{name}", "base64": packed})
    return sorted(rows, key=lambda row: str(row["path"]))


async def _profiles(farm: Farm, ab_test: AbTestRow) -> Profiles:
    """The captures that were taken, by what they are of."""
    found: dict[tuple[str, str, int], Profile] = {}
    places = {variant.kernel: place for place, variant in enumerate(ab_test.variants)}
    for row in await farm.store.profiles_of_ab_test(ab_test.id):
        place = places.get((row.image_id, row.tunables))
        capture = await taken(farm, row) if row.state == ProfileState.DONE else None
        if capture is not None and place is not None:
            found[row.testbed, row.workload, place] = capture.profile
    return found


async def _flame_graphs(
    report: ComparisonReport, part: Part, profiles: Profiles
) -> Mapping[str, str]:
    """The pictures that README.md names, by their paths."""
    wanted = flame_graph_names(report, part, profiles)
    labels = [variant.label for variant in report.variants]
    images = image_names(labels)
    drawn: dict[str, str] = {}
    for series in part.series:
        base = profiles.get((series.testbed, series.workload, 0))
        for place, (label, image) in enumerate(zip(labels, images, strict=True)):
            profile = profiles.get((series.testbed, series.workload, place))
            if profile is None:
                continue
            name = capture_name(image, series.workload)
            title = f"{label}: {series.workload} on {series.testbed}"
            drawn[f"{name}.svg"] = await calculate(flame_graph, profile, title=title)
            if base is not None and place > 0:
                drawn[f"{name}.difference.svg"] = await calculate(
                    flame_difference,
                    base,
                    profile,
                    title=title,
                    old_label=labels[0],
                    new_label=label,
                    cost=_cost(base, profile, series, place),
                )
    return {f"{part.place}{name}": text for name, text in drawn.items() if name in wanted}


def _cost(base: Profile, profile: Profile, series: SeriesReport, place: int) -> float | None:
    """What a packet costs with a variant as a factor of what it costs with the base."""
    sides = series.samples[0].values, series.samples[place].values
    known = all(sides) and series.metric.is_rate_of_packets
    return cost_ratio(base, profile, rates=(fmean(sides[0]), fmean(sides[1])) if known else None)


async def _graph(report: ComparisonReport, part: Part, form: Format) -> bytes:
    """One axis has one unit: series that are measured in another than the first have none."""
    metric = part.measured[0].metric
    return await calculate(
        medians,
        [
            MedianGroup(
                workload=series.workload, values=tuple(one.values for one in series.samples)
            )
            for series in part.measured
            if series.metric == metric
        ],
        image_names(variant.label for variant in report.variants),
        metric,
        title=f"{report.title} on {part.series[0].testbed}",
        form=form,
    )
