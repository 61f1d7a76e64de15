"""Checks, scope, setup, artefacts, candidates and cost, added to a report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from buildbot_bench.core.figures import count, whole_percent
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.model.learn import rounding_words
from buildbot_bench.core.report import words
from buildbot_bench.core.report.both_sides import artefacts, cost, growth, scope, setup
from buildbot_bench.core.report.checks import IMAGES_AGREE, STILL_PRESENT, StepContext, make_checks
from buildbot_bench.core.report.context import Context, SearchStage
from buildbot_bench.core.report.evidence_model import Candidate, Fact, ImageValues, Level, Touched
from buildbot_bench.core.report.model import ProbeRecord, Report, Setting, StepReport
from buildbot_bench.core.report.side_levels import disagreement, pair_of
from buildbot_bench.core.report.steps import levels
from buildbot_bench.core.report.why import explain
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import Answer
from buildbot_bench.core.touched import CommitPrior, Touch, TouchClass

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
    suspects = report.headline.suspects if report.headline else ()
    places = {between.revisions.index(suspect): suspect.label for suspect in suspects}
    narrowed = replace(
        report,
        cost=cost(report.probes, known.images),
        probes=_with_left(report, known.stages),
        stages=known.stages,
        touched=_describe_prior(known.prior, report.setting, places),
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
    checks = tuple(make_checks(here))
    facts = setup(known.images, before, after)
    rows = scope(step, old, new, known.series, report.setting)
    return replace(
        narrowed,
        candidates=_candidates(step, between, known),
        disclaimer=words.disclaimer(checks, _impossible(here, report.setting)),
        checks=checks,
        scope=rows,
        second_opinion=words.second_opinion(rows),
        setup=(*facts, Fact(name="control image", old="none", new="none"))
        if facts and report.setting.farm and known.control is None
        else facts,
        artefacts=artefacts(known.images, [*before, *after]),
        measured=_measured(samples, before, after),
        why=explain(known.captures, metric=report.setting.metric, levels=pair_of(step.levels))
        if known.captures
        else None,
        clocks=_clocks(report, between, samples, (before, after)),
        growth=growth(known.images, step, old, new, built=report.setting.item.built),
    )


def _impossible(here: StepContext, setting: Setting) -> frozenset[str]:
    """The checks that nobody can make of a search without a farm, which ends with its answer."""
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


def _of_metric(report: Report, samples: Sequence[Sample]) -> list[Sample]:
    unit = report.setting.metric.unit
    return [sample for sample in samples if sample.metric.unit == unit]


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
    left = {stage.at_s: stage.left for stage in stages}
    return tuple(
        replace(probe, left=None if probe.value is None else left.get(probe.at_s))
        for probe in report.probes
    )


def _describe_prior(
    prior: CommitPrior | None, setting: Setting, suspects: Mapping[int, str]
) -> Touched | None:
    """The sentences on a prior where commits compete; `suspects` are labels by position."""
    if prior is None or len(prior.touches) <= 1:
        return None
    suspect, label = None, ""
    if len(suspects) == 1:
        ((position, label),) = suspects.items()
        suspect = prior.touches[position - 1]
    reasons = [_counts(prior, setting), *_prior_shares(prior)]
    if suspect is not None:
        reasons.append(f"{label} changes {_what(suspect, setting)}.")
    return Touched(classes=prior.classes, suspect=suspect, reasons=tuple(reasons))


def _counts(prior: CommitPrior, setting: Setting) -> str:
    touches = prior.touches
    runs = touches.count(Touch.RUNS)
    built = runs + touches.count(Touch.BUILT)
    verb = "changes" if built == 1 else "change"
    text = f"{built:,} of {count(len(touches), 'commit')} {verb} {_files_built(setting)}."
    if not prior.ran:
        return text
    verb = "changes" if runs == 1 else "change"
    return f"{text} {runs:,} of them {verb} code that {setting.workload} executes."


def _prior_shares(prior: CommitPrior) -> Iterator[str]:
    """Nothing where the prior is the same for all commits."""
    classes = [one for one in prior.classes if one.commits]
    if len(classes) <= 1:
        return
    parts = [f"{whole_percent(one.share)} on {_those(one, ran=prior.ran)}" for one in classes]
    parts[-1] = f"and {parts[-1]}"
    yield f"The search began with this suspicion: {', '.join(parts)}."
    yield "Half of the suspicion is the same for each commit."


def _those(one: TouchClass, *, ran: bool) -> str:
    commits = f"the {count(one.commits, 'commit')}" if one.commits > 1 else "the one commit"
    verb = "change" if one.commits > 1 else "changes"
    match one.touch:
        case Touch.RUNS:
            return f"{commits} that {verb} executed code"
        case Touch.BUILT:
            return f"{commits} that {verb} {'other ' if ran else ''}built files"
        case Touch.NEITHER:
            return f"{commits} that {verb} neither"


def _files_built(setting: Setting) -> str:
    return f"files that the {setting.item.built} is built from"


def _what(touch: Touch, setting: Setting) -> str:
    match touch:
        case Touch.RUNS:
            return f"code that {setting.workload} executes"
        case Touch.BUILT:
            return _files_built(setting)
        case Touch.NEITHER:
            return f"none of the {_files_built(setting)}. Check it twice"
