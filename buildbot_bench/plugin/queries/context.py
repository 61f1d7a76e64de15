"""Evidence around a search's answer: other series, the tip, the lab's facts, the course."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from buildbot_bench.archives.contents import Manifest
from buildbot_bench.core.evidence import comparable_samples
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.item import RANDOMISED_FACT
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.report.context import (
    NOT_HEEDED,
    Context,
    ControlRecord,
    ImageRecord,
    SeriesSamples,
    one_layout,
    replay_stages,
    runners_up,
)
from buildbot_bench.core.report.model import ProbeRecord
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import Answer
from buildbot_bench.plugin.db.finding_rows import IncidentSeriesRow, SearchRow
from buildbot_bench.plugin.db.rows import CommitRow, ImageRow, IterationRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, removed_series
from buildbot_bench.plugin.queries.captures import captures_of
from buildbot_bench.plugin.queries.control_images import control_state
from buildbot_bench.plugin.queries.evidence import SearchInputs
from buildbot_bench.plugin.queries.incidents import is_of

# How far from a step another series' nearest measurement still says something of it: what lies
# between is told, and beyond this a reader would not take it for an answer.
NEAR_COMMITS = 500


async def context_of(
    farm: Farm,
    search: SearchRow,
    inputs: SearchInputs,
    answer: Answer,
    probes: Sequence[ProbeRecord],
) -> Context:
    """All that is known besides the search's own samples."""
    times = frozenset(probe.at_s for probe in probes if probe.value is not None)
    known = (inputs.range.n, inputs.evidence, inputs.policy)
    tip = await farm.store.newest_commit(search.branch)
    images = await _images(farm, search, inputs)
    return Context(
        images=images,
        series=await _other_series(farm, search, answer),
        later=await _later(farm, search, inputs, tip) if tip else (),
        tip=tip.revision if tip else None,
        stages=await calculate(replay_stages, *known, times),
        runners_up=await calculate(runners_up, *known, answer),
        captures=await captures_of(farm, search, inputs.range),
        control=await _control(farm, search.testbed),
        one_order=not inputs.policy.images,
        one_layout=_one_layout(inputs, images),
        prior=inputs.prior,
    )


async def _control(farm: Farm, testbed: str) -> ControlRecord | None:
    """What the testbed's control image shows; None without one."""
    state = await control_state(farm, testbed)
    if state is None:
        return None
    good = state.chart.good
    return ControlRecord(
        label=state.image.label if state.image else state.control.revision,
        rounds=len(good),
        spread=max((abs(point.deviation or 0.0) for point in good), default=0.0),
        every_s=state.control.every,
        last_good_s=state.last_good_s,
        held=state.quarantine is not None,
    )


async def _images(farm: Farm, search: SearchRow, inputs: SearchInputs) -> tuple[ImageRecord, ...]:
    """The images of the range that were measured where the search measures, and all first ones."""
    measured = {(sample.position, sample.image) for sample in inputs.samples}
    measured |= {(position, 0) for position in inputs.evidence.built}
    first = inputs.range.old.position
    rows: dict[int, list[IterationRow]] = {
        image.id: []
        for image in inputs.images.values()
        if (image.position - first, image.ordinal) in measured
    }
    for probe in await farm.store.probes_of(list(rows), search.series):
        if probe.tunables == search.tunables:
            rows[probe.image_id] += await farm.store.iterations_of_probe(probe.id)
    return tuple(
        _record(inputs.images[number], first, iterations) for number, iterations in rows.items()
    )


def _one_layout(inputs: SearchInputs, images: Sequence[ImageRecord]) -> str:
    """Why no step is separated from luck with the link order, where runs vary the other luck."""
    policy = inputs.policy
    if policy.images or policy.layout or policy.counted or not inputs.samples:
        return ""
    said = [told for one in images for name, told in one.facts if name == RANDOMISED_FACT]
    return one_layout(inputs.samples[0].metric, NOT_HEEDED, said)


def _record(image: ImageRow, first: int, iterations: Iterable[IterationRow]) -> ImageRecord:
    good = [row for row in iterations if row.is_primary and row.value is not None]
    return ImageRecord(
        **shared(ImageRecord, image) | {"position": image.position - first},
        iterations=len(good),
        facts=_built(image)
        | {(name, str(value)) for row in good for name, value in row.facts.items()},
    )


def _built(image: ImageRow) -> frozenset[tuple[str, str]]:
    """What the builder says of an image."""
    return Manifest(**image.manifest).facts if image.manifest else frozenset()


async def _other_series(farm: Farm, search: SearchRow, answer: Answer) -> tuple[SeriesSamples, ...]:
    """What every other series measured near the steps."""
    if not answer.steps:
        return ()
    near = [search.old_position + end for step in answer.steps for end in (step.old, step.new)]
    first, last = max(0, min(near) - NEAR_COMMITS), max(near) + NEAR_COMMITS
    there = [
        series.name
        for series in all_series(farm.workflow.bench_jobs)
        if series.measures(search.branch)
    ]
    joined = await farm.store.series_of_incident(search.id)
    members = {one.series: one for one in joined if not one.value}
    removed = await removed_series(farm)
    # Another machine of a pool measures nothing but second opinions and searches.
    there += [one for one in members if one not in there and one not in removed]
    found = [await _series(farm, search, series, first, last) for series in there]
    # Of what is not measured any more, what it said stays.
    past = [await _series(farm, search, series, first, last) for series in removed]
    return tuple(
        _with_standing(series, members.get((series.testbed, series.workload)))
        for series in (*found, *(series for series in past if series.samples))
        if (series.testbed, series.workload) != search.series or search.value
    ) + tuple(
        _with_standing(SeriesSamples(**shared(SeriesSamples, one) | {"samples": ()}), one)
        for one in joined
        if one.value and one.standing is not Standing.DENIED and not is_of(one, search)
    )


def _with_standing(series: SeriesSamples, member: IncidentSeriesRow | None) -> SeriesSamples:
    """What was found of the step there, where its level raised an alarm, too."""
    if member is None:
        return series
    return replace(
        series,
        standing=member.standing,
        effect=member.effect,
        low=member.low,
        high=member.high,
    )


async def _series(
    farm: Farm, search: SearchRow, series: tuple[str, str], first: int, last: int
) -> SeriesSamples:
    samples = await farm.store.samples(series, (first, last), branch=search.branch)
    return SeriesSamples(
        testbed=series[0],
        workload=series[1],
        samples=_shifted(comparable_samples(samples), search),
    )


async def _later(
    farm: Farm, search: SearchRow, inputs: SearchInputs, tip: CommitRow
) -> tuple[Sample, ...]:
    """What the search's own series measured behind the range, comparable with what lies in it.

    Nothing of a search with tunables: the series is measured without them.
    """
    if not inputs.samples or search.tunables:
        return ()
    known = inputs.samples[0]
    samples = await farm.store.samples(
        search.series,
        (search.new_position + 1, tip.position),
        unit=search.value or known.metric.unit,
        epoch=known.epoch,
        branch=search.branch,
    )
    return _shifted(samples, search)


def _shifted(samples: Iterable[Sample], search: SearchRow) -> tuple[Sample, ...]:
    """The samples with positions that count from the range's old end."""
    return tuple(
        replace(sample, position=sample.position - search.old_position) for sample in samples
    )
