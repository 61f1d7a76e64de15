"""What could have refuted a step, and how that went, by the evidence; it asks for no more of it.

A check for which something is missing was not made: it is said so and counts as unproven.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from buildbot_bench.core import ministat
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.both_sides import setup
from buildbot_bench.core.report.context import Context, ControlRecord
from buildbot_bench.core.report.evidence_model import Check, Outcome
from buildbot_bench.core.report.model import StepReport
from buildbot_bench.core.report.words import count, duration, few, percent, size
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Sample

# What still shows half of the step is nearer to the new level than to the old one.
_PRESENT_SHARE = 0.5
# A single round of the control image has nothing to be compared with.
_ROUNDS_OF_A_LEVEL = 2
# One image on a side shows its own layout as well; a second one tells the two apart.
_IMAGES_OF_A_LEVEL = 2
# So many periods without a good round of the control image say nothing of the present.
_OVERDUE = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class StepContext:
    """A step and its two levels: the positions of each, those nearest to the step first.

    `samples` are those of the step's metric, of the range and behind it; `steps_ahead` is how many
    other steps lie between the step and `ahead`, the position from which on none is known.
    """

    step: StepReport
    item: ItemUnderTest
    between: RevisionRange
    before: Sequence[int]
    after: Sequence[int]
    ahead: int
    steps_ahead: int
    samples: Sequence[Sample]
    known: Context


def make_checks(here: StepContext) -> tuple[Check, ...]:
    """All checks that the farm is set up for, in the order in which a reader would ask for them."""
    control = here.known.control
    return (
        ends_proved(here),
        images_agree(here),
        setup_alike(here),
        still_present(here),
        *(() if control is None else (control_healthy(here, control),)),
        binary_differs(here),
    )


def ends_proved(here: StepContext) -> Check:
    """Whether both sides of the step were measured often enough, and differ by Student's t."""
    name = "both sides proved"
    held = here.step.contrast
    boots = count(len(held.old.values), here.item.iteration)
    summary = f"{boots} of {held.old.label} and {len(held.new.values)} of {held.new.label}"
    comparison, needed = held.comparison, ministat.MIN_VALUES
    if comparison is None or min(len(held.old.values), len(held.new.values)) < needed:
        detail = f"{summary}; {needed} of each are asked for"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    same_way = (comparison.difference < 0) == (here.step.effect < 0)
    return Check(
        name=name,
        outcome=_outcome(comparison.significant and same_way),
        detail=f"{summary}, {few(comparison.p_value)} by Student's t",
    )


def images_agree(here: StepContext) -> Check:
    """Whether every image of the new level differs from every one of the old: it is no layout."""
    name = "images agree"
    if here.known.one_layout:
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=here.known.one_layout)
    before, after = (_image_means(here.samples, side) for side in (here.before, here.after))
    summary = f"{count(len(before), 'image')} before and {len(after)} after the step"
    effects = [new / old - 1 for old in before for new in after if old]
    if not effects:
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=summary)
    least = min(effects, key=lambda effect: effect / here.step.effect)
    agree = least / here.step.effect >= _PRESENT_SHARE
    if agree and min(len(before), len(after)) < _IMAGES_OF_A_LEVEL:
        detail = f"{summary}: its layout in memory may have changed, not what it does"
        if here.known.one_order:
            detail += "; the job cannot relink"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    return Check(
        name=name,
        outcome=_outcome(agree),
        detail=f"{summary}; between any two of them at least {percent(least)}",
    )


def setup_alike(here: StepContext) -> Check:
    """Whether the lab told the same of both sides: nothing but what is built changed."""
    name, place = "setup alike", here.item.place
    facts = setup(here.known.images, here.before, here.after)
    if not facts:
        detail = f"the {place} told nothing of itself"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    differing = [fact.name for fact in facts if fact.differs]
    if differing:
        detail = f"{', '.join(differing)}: see the setup"
        return Check(name=name, outcome=Outcome.FAILED, detail=detail)
    detail = f"the {place} tells {count(len(facts), 'fact')} of both sides, all the same"
    return Check(name=name, outcome=Outcome.PASSED, detail=detail)


def still_present(here: StepContext) -> Check:
    """Whether the newest revision that was measured still shows the step."""
    name = "still present"
    newest = _newest(here)
    old = here.step.contrast.old.values
    if not newest or not old or not fmean(old):
        last = here.step.new.label
        return Check(
            name=name, outcome=Outcome.NOT_MADE, detail=f"nothing newer than {last} was measured"
        )
    values = [value for sample in newest for value in sample.values]
    summary = f"{newest[0].label}{_behind(newest[0], here)}"
    if len(values) < ministat.MIN_VALUES:
        detail = f"{summary} has {count(len(values), here.item.iteration)}"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    effect = fmean(values) / fmean(old) - 1
    present = effect / here.step.effect >= _PRESENT_SHARE
    detail = f"{summary}: {percent(effect)} against {here.step.contrast.old.label}"
    if present and here.steps_ahead:
        detail += f", but {count(here.steps_ahead, 'other step')} between had a part in it"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    return Check(name=name, outcome=_outcome(present), detail=detail)


def control_healthy(here: StepContext, control: ControlRecord) -> Check:
    """Whether a kernel that never changes measured what it always did, around the same time."""
    name = "control image healthy"
    if control.held:
        detail = f"the testbed is in quarantine, for {control.label} is off its level"
        return Check(name=name, outcome=Outcome.FAILED, detail=detail)
    if control.last_good_s is None or control.rounds < _ROUNDS_OF_A_LEVEL:
        detail = f"the level of {control.label} is not known yet"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    sides = {*here.before, *here.after}
    boots = [i.at_s for s in here.samples if s.position in sides for i in s.iterations]
    late_s = max(boots, default=0.0) - control.last_good_s
    if late_s > _OVERDUE * control.every_s:
        last = f"{duration(late_s)} before the last {here.item.iteration}"
        detail = f"{control.label} was measured last {last}"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    detail = (
        f"{control.label} within {size(control.spread)} of its level in "
        f"{count(control.rounds, 'round')}"
    )
    return Check(name=name, outcome=Outcome.PASSED, detail=detail)


def binary_differs(here: StepContext) -> Check:
    """Whether what was built on both sides of the step differs at all."""
    name, built = "binary differs", here.item.built
    revisions = here.between.revisions
    old, new = here.step.old, here.step.new
    kernels = {
        image.position: image.kernel or image.digest
        for image in here.known.images
        if image.ordinal == 0 and image.digest
    }
    held = [kernels.get(revisions.index(end)) for end in (old, new)]
    if None in held:
        missing = old if held[0] is None else new
        detail = f"no digest of {missing.label}'s {built} is known"
        return Check(name=name, outcome=Outcome.NOT_MADE, detail=detail)
    differ = held[0] != held[1]
    verb = "differs from" if differ else "is the same as"
    parent = "its parent's" if old.sha == new.parent_sha else f"{old.label}'s"
    return Check(
        name=name, outcome=_outcome(differ), detail=f"{new.label}'s {built} {verb} {parent}"
    )


def _outcome(passed: bool) -> Outcome:
    return Outcome.PASSED if passed else Outcome.FAILED


def _image_means(samples: Iterable[Sample], positions: Iterable[int]) -> list[float]:
    wanted = set(positions)
    values: dict[tuple[int, int], list[float]] = {}
    for sample in samples:
        if sample.position in wanted and sample.values:
            values.setdefault((sample.position, sample.image), []).extend(sample.values)
    return [fmean(each) for each in values.values()]


def _newest(here: StepContext) -> list[Sample]:
    """The samples of the newest revisions, as many as Student's t needs values; newest first."""
    behind = [sample for sample in here.samples if sample.values and sample.position >= here.ahead]
    culprit = here.between.revisions.index(here.step.new)
    taken: list[Sample] = []
    for sample in sorted(behind, key=lambda sample: -sample.position):
        if sample.position <= culprit or _enough(taken):
            break
        taken.append(sample)
    return taken


def _enough(samples: Iterable[Sample]) -> bool:
    return sum(len(sample.values) for sample in samples) >= ministat.MIN_VALUES


def _behind(sample: Sample, here: StepContext) -> str:
    """How far a sample is from the branch's tip."""
    if here.known.tip is None:
        return ""
    distance = here.known.tip.position - here.between.old.position - sample.position
    return ", the tip" if distance <= 0 else f", {count(distance, 'commit')} before the tip"
