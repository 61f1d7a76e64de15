"""Checks, scope, setup, artefacts, candidates and cost, added to a report."""

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.model.resolution import rounding_words
from buildbot_bench.core.report import words
from buildbot_bench.core.report.both_sides import artefacts, cost, growth, scope, setup
from buildbot_bench.core.report.checks import IMAGES_AGREE, STILL_PRESENT, StepContext, make_checks
from buildbot_bench.core.report.context import Context, SearchStage
from buildbot_bench.core.report.evidence_model import (
    Candidate,
    Fact,
    ImageValues,
    Level,
    Touched,
)
from buildbot_bench.core.report.model import ProbeRecord, Report, Setting, StepReport
from buildbot_bench.core.report.steps import levels
from buildbot_bench.core.report.touched import describe_prior
from buildbot_bench.core.report.why import Why, explain
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import Answer
from buildbot_bench.core.two_clocks import disagreement

# A commit less likely than this is not worth a reader's time, so a long stretch hardly ever is.
_WORTH_NAMING = 0.0005


def attach_evidence(
    report: Report,
    *,
    between: RevisionRange,
    answer: Answer,
    samples: Sequence[Sample],
    known: Context,
) -> Report:
    """The report with checks, scope, setup, artefacts, candidates, cost and what was left when."""
    narrowed = replace(
        report,
        cost=cost(report.probes, known.images),
        probes=_with_left(report, known.stages),
        stages=known.stages,
        touched=_touched(report, between, known),
    )
    step = report.headline
    samples = _of_metric(report, samples)
    if step is None:
        clocks = _clocks(report, between, samples, ((0,), (between.n,)))
        return replace(narrowed, measured=_measured(samples, (), ()), clocks=clocks)
    old, new = between.revisions.index(step.old), between.revisions.index(step.new)
    before, after = levels(answer, old, new, between.n)
    here = StepContext(
        step=step,
        item=report.setting.item,
        between=between,
        before=before,
        after=after,
        ahead=max((other.new for other in answer.steps), default=new),
        steps_ahead=sum(other.old >= new for other in answer.steps),
        samples=[*samples, *_of_metric(report, known.later)],
        known=known,
        metric=report.setting.metric,
    )
    checks = tuple(replace(check, detail=long_line(check.detail)) for check in make_checks(here))
    rows = scope(step, old, new, known.series, report.setting)
    return replace(
        narrowed,
        candidates=_candidates(step, between, known),
        disclaimer=words.disclaimer(checks, _impossible(here, report.setting)),
        checks=checks,
        scope=rows,
        second_opinion=words.second_opinion(rows),
        setup=_setup(known, before, after)
        if report.setting.farm
        else setup(known.images, before, after),
        artefacts=artefacts(known.images, [*before, *after]),
        measured=_measured(samples, before, after),
        why=_why(known, step, report.setting),
        clocks=_clocks(report, between, samples, (before, after)),
        growth=growth(known.images, step, old, new, built=report.setting.item.built),
    )


def _impossible(here: StepContext, setting: Setting) -> frozenset[str]:
    """The checks that nobody can have made of a search without a farm.

    It ends with its answer: no run of a later revision comes after that.
    """
    if setting.farm:
        return frozenset()
    return frozenset({STILL_PRESENT, *((IMAGES_AGREE,) if here.known.one_layout else ())})


def _clocks(
    report: Report,
    between: RevisionRange,
    samples: Sequence[Sample],
    sides: tuple[Sequence[int], Sequence[int]],
) -> str:
    """Where one of wall and processor time shows a change and the other does not, and rounding."""
    old, new = (
        [
            probe.times
            for probe in report.probes
            if probe.times is not None and not probe.note and probe.label in labels
        ]
        for labels in ({between.revisions[place].label for place in one} for one in sides)
    )
    rounded = rounding_words(
        report.setting.metric,
        (value for sample in samples for value in sample.values),
        max((sample.resolution for sample in samples), default=0.0),
        report.setting.min_effect,
    )
    clocks = disagreement(old, new, report.setting.min_effect)
    return " ".join(said for said in (clocks, rounded) if said)


def _touched(report: Report, between: RevisionRange, known: Context) -> Touched | None:
    suspects = report.headline.suspects if report.headline else ()
    places = {between.revisions.index(suspect): suspect.label for suspect in suspects}
    return describe_prior(known.prior, report.setting, places)


def _setup(known: Context, before: Sequence[int], after: Sequence[int]) -> tuple[Fact, ...]:
    """What the lab reported of both sides, and that nothing tells of the lab itself, if so."""
    facts = setup(known.images, before, after)
    if facts and known.control is None:
        return (*facts, Fact(name="control image", old="none", new="none"))
    return facts


def _of_metric(report: Report, samples: Sequence[Sample]) -> list[Sample]:
    unit = report.setting.metric.unit
    return [sample for sample in samples if sample.metric.unit == unit]


def _why(known: Context, step: StepReport, setting: Setting) -> Why | None:
    if known.captures is None:
        return None
    levels = None if step.levels is None else (step.levels.old, step.levels.new)
    return explain(known.captures, metric=setting.metric, levels=levels)


def _measured(
    samples: Sequence[Sample], before: Sequence[int], after: Sequence[int]
) -> tuple[ImageValues, ...]:
    levels_of = dict.fromkeys(before, Level.OLD) | dict.fromkeys(after, Level.NEW)
    return tuple(
        ImageValues(
            label=one_line(sample.label, columns=40),
            position=sample.position,
            image=sample.image,
            level=levels_of.get(sample.position, Level.OTHER),
            values=sample.values,
        )
        for sample in sorted(samples, key=lambda sample: (sample.position, sample.image))
        if sample.values
    )


def _candidates(step: StepReport, between: RevisionRange, known: Context) -> tuple[Candidate, ...]:
    """The runner-up; none when the report lists several suspects anyway."""
    if len(step.suspects) > 1:
        return ()
    places = known.runners_up.get(between.revisions.index(step.new), ())
    return tuple(
        Candidate(
            first=between.revisions[place.old + 1],
            last=between.revisions[place.new],
            commits=place.new - place.old,
            probability=place.probability,
        )
        for place in places[:1]
        if place.probability / (place.new - place.old) >= _WORTH_NAMING
    )


def _with_left(report: Report, stages: Sequence[SearchStage]) -> tuple[ProbeRecord, ...]:
    """The log of probes, each with the number of commits that were suspected after it."""
    left = {stage.at_s: stage.left for stage in stages}
    return tuple(
        replace(probe, left=None if probe.value is None else left.get(probe.at_s))
        for probe in report.probes
    )
