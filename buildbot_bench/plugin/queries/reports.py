"""The report of an ended search, composed from the tables and the mirror on demand."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from twisted.logger import Logger

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest, item_of
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.judge.model import Said
from buildbot_bench.core.legible import long_line
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import Context
from buildbot_bench.core.report.model import ProbeRecord, Report, Setting
from buildbot_bench.core.report.related import Inside, Kin, commits_to_ask, with_insides, with_kin
from buildbot_bench.core.report.steps import stated_answer
from buildbot_bench.core.revision import name_in_repository
from buildbot_bench.core.sample import PPS, Metric
from buildbot_bench.core.search import Answer
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, IterationRow, ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import branch_to_name
from buildbot_bench.plugin.queries.breakage_views import search_url
from buildbot_bench.plugin.queries.commit_views import reviews_of
from buildbot_bench.plugin.queries.context import context_of
from buildbot_bench.plugin.queries.evidence import (
    SearchInputs,
    applied_fix,
    gather,
    gather_inside,
    item_on,
    spans_of,
)
from buildbot_bench.plugin.queries.judgements import (
    marked_changes,
    marks_told,
    opinion_of,
    track_record,
)
from buildbot_bench.render.message import with_sections

_LOG = Logger()


async def report_of(farm: Farm, search: SearchRow) -> Report:
    """Everything that is to be said of a search with an answer."""
    inputs = await gather(farm, search)
    images = {image.position - inputs.range.old.position: image for image in _plain(inputs)}
    answer, probes = answer_of(search), await probe_records(farm, search)
    expected = {
        one.judged - search.old_position: one.author
        for one in await marked_changes(farm, search.series, search.branch)
        if one.said is Said.EXPECTED
    }
    known = await context_of(farm, search, inputs, answer, probes)
    report = await calculate(
        compose,
        range=inputs.range,
        answer=answer,
        samples=inputs.samples,
        setting=replace(
            _setting(farm, search, inputs, await _item(farm, search, known)),
            carried=await applied_fix(farm, search, inputs.images.values()),
            branch=await branch_to_name(farm, search.branch),
        ),
        probes=probes,
        untestable={
            position: images[position].reason or "untestable"
            for position in inputs.evidence.untestable
        },
        no_ops=inputs.evidence.same_as_previous,
        known=replace(
            known,
            opinion=opinion_of(await farm.store.marks_of_search(search.id)),
            record=await track_record(farm),
            expected=expected,
            marked=await marks_told(farm, search.series, search.branch, search.new_position),
            stated=search.stated.steps if search.stated else (),
        ),
    )
    report = replace(report, reviews=await _reviews(farm, report))
    report = with_insides(report, await _insides(farm, search, report.setting))
    report = with_kin(report, inputs.range, await farm.git(_kin, farm, search, report))
    return with_sections(report, _section_failed)


async def _insides(farm: Farm, search: SearchRow, setting: Setting) -> list[Inside]:
    """What a search found inside the merges to which it came."""
    found: list[Inside] = []
    spans = await farm.git(spans_of, farm, search, search.answers)
    for span, answer in zip_longest(spans, search.answers[1:]):
        if span is None:
            break
        inside = span.inside
        match answer:
            case None:
                pass
            case Answer(steps=(), reproduced=True, unresolved=(), slopes=(), reason=why):
                inside = replace(inside, why=long_line(why))
            case _:
                inputs = await gather_inside(farm, search, span)
                report = await calculate(
                    compose,
                    range=inputs.range,
                    answer=answer,
                    samples=inputs.samples,
                    setting=setting,
                    no_ops=inputs.evidence.same_as_previous,
                )
                inside = replace(inside, report=report)
        found.append(inside)
    return found


def _kin(farm: Farm, search: SearchRow, report: Report) -> dict[str, tuple[Kin, ...]]:
    """The reverts and picks of what a report names."""
    branch, hour = name_in_repository(search.branch), int(farm.now() // 3600)
    return {sha: farm.kin(sha, branch, hour) for sha in commits_to_ask(report)}


def _section_failed(name: str, _error: Exception) -> None:
    _LOG.failure("bench: the report's section {section!r} failed", section=name)


async def _reviews(farm: Farm, report: Report) -> tuple[str, ...]:
    """The reviews of the one commit that a report names; of several suspects none."""
    step = report.headline
    return () if step is None else await reviews_of(farm, report.setting.links, step.suspects)


def answer_of(search: SearchRow) -> Answer:
    """The answer that was stored; a search that failed has found nothing and says why."""
    if search.answer is None:
        return Answer(
            steps=(),
            reproduced=True,
            unresolved=(),
            reason=search.detail or f"the search was {search.state}",
        )
    return search.answer


async def probe_records(farm: Farm, search: SearchRow) -> list[ProbeRecord]:
    """The iterations that a search asked for, in the order in which it asked.

    Those of other series of its incident say so.
    """
    records: list[ProbeRecord] = []
    for serial, probe in enumerate(await farm.store.probes_of_search(search.id), start=1):
        image = await farm.store.image(probe.image_id)
        iterations = await farm.store.iterations_of_probe(probe.id, search.value)
        if image is None:
            continue
        own = probe.series == search.series
        note = "" if own else f"{probe.workload} on {probe.testbed}"
        records.extend(
            replace(record, note=note) for record in _records(serial, probe, image, iterations)
        )
    return records


def _records(
    serial: int, probe: ProbeRow, image: ImageRow, iterations: Sequence[IterationRow]
) -> list[ProbeRecord]:
    if not iterations:
        return [
            ProbeRecord(
                serial=serial,
                label=image.label,
                image=image.ordinal,
                failure=probe.failure or str(probe.state),
                at_s=probe.ended_at or probe.created_at,
                made=False,
            )
        ]
    return [
        ProbeRecord(
            serial=serial,
            label=image.label,
            image=image.ordinal,
            **shared(ProbeRecord, row) | {"times": RunTimes.heard(row.times)},
        )
        for row in iterations
        if row.is_primary
    ]


def metric_of(inputs: SearchInputs) -> Metric:
    """What a search measured; packets where it measured nothing."""
    return inputs.samples[0].metric if inputs.samples else PPS


async def stated_of(farm: Farm, search: SearchRow) -> Answer:
    """The answer of an ended search with the figures that its report works out now.

    Where nobody can read the range any more they are the search's own.
    """
    answer = answer_of(search)
    if not answer.steps:
        return answer
    try:
        inputs = await gather(farm, search)
    except UsageError:  # a rewritten branch dropped it
        return answer
    return stated_answer(
        inputs.range,
        answer,
        inputs.samples,
        metric=metric_of(inputs),
        error=search.error,
        no_ops=inputs.evidence.same_as_previous,
    )


def _plain(inputs: SearchInputs) -> list[ImageRow]:
    return [image for image in inputs.images.values() if image.ordinal == 0]


async def _item(farm: Farm, search: SearchRow, known: Context) -> ItemUnderTest:
    """What the facts of its boots say; without boots, what its testbed measures now."""
    facts = {name for image in known.images for name, _ in image.facts}
    return item_of(facts) if facts else await item_on(farm, search.testbed)


def _setting(farm: Farm, search: SearchRow, inputs: SearchInputs, item: ItemUnderTest) -> Setting:
    mail = farm.workflow.mail
    return Setting(
        testbed=search.testbed,
        workload=search.workload,
        metric=metric_of(inputs),
        confidence=farm.workflow.regression.confidence,
        min_effect=search.min_effect,
        error=search.error,
        farm=farm.workflow.name,
        search_id=search.id,
        url=search_url(farm, search.id),
        operator=(mail.reply_to or "") if mail else "",
        item=item,
        tunables=search.tunables,
        links=farm.workflow.pages_of_commits(search.repository),
    )
