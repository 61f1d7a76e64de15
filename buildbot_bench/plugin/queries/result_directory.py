"""The files of a comparison's result directory: texts, graphs and captures."""

import base64
from collections.abc import Mapping
from statistics import fmean

from buildbot_bench.core.compare.directory import (
    GRAPH,
    Part,
    Profiles,
    flame_graph_names,
    image_names,
    parts,
    result_files,
)
from buildbot_bench.core.compare.model import ComparisonReport, SeriesReport
from buildbot_bench.core.compare.published import capture_name
from buildbot_bench.core.json_model import Json
from buildbot_bench.core.profile.functions import cost_ratio
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.states import ProfileState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.queries.captures import taken
from buildbot_bench.plugin.queries.compared_boots import boots_of
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.render.flamegraph import flame_difference, flame_graph
from buildbot_bench.render.plots.canvas import Format
from buildbot_bench.render.plots.distribution import MedianGroup, medians

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
