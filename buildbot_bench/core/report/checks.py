"""The checks that could refute a step, and their outcomes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import long_line
from buildbot_bench.core.model import thresholds
from buildbot_bench.core.report.both_sides import setup
from buildbot_bench.core.report.context import Context
from buildbot_bench.core.report.evidence_model import Check, Outcome
from buildbot_bench.core.report.model import Contrast, StepReport
from buildbot_bench.core.report.steps import is_proved
from buildbot_bench.core.report.words import count, duration, few, percent, sentence, size
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.sample import Metric, NoiseClass, Sample

IMAGES_AGREE, STILL_PRESENT = "images agree", "still present"
"""Names of checks."""
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
    metric: Metric

    @property
    def is_counted(self) -> bool:
        """Whether a second value confirms the first."""
        return self.metric.noise is NoiseClass.EXACT

    @property
    def values_that_prove(self) -> int:
        """How many values a level needs."""
        return thresholds.values_that_prove(counted=self.is_counted)


Found = tuple[Outcome, str]
"""What came of a check, and how that went."""


def make_checks(here: StepContext) -> Iterator[Check]:
    """All checks that the farm is set up for, in the order in which a reader would ask for them."""
    checks = {
        "both sides proved": _ends_proved,
        IMAGES_AGREE: _images_agree,
        "setup alike": _setup_alike,
        STILL_PRESENT: _still_present,
        "control image healthy": _control_healthy,
        "binary differs": _binary_differs,
    }
    for name, check in checks.items():
        if found := check(here):
            yield Check(name=name, outcome=found[0], detail=long_line(found[1]))


def _ends_proved(here: StepContext) -> Found:
    """Whether both sides were measured often enough, and differ by Student's t, or lie apart."""
    held = here.step.contrast
    old, new = held.old.values, held.new.values
    summary = f"Both sides were measured: {_boots(held, here.item)}."
    comparison, needed = held.comparison, here.values_that_prove
    if here.step.race is not None:
        told = f"{summary} The search compared how many of them are of either speed."
        return _outcome(here.step.proved), told
    if min(len(old), len(new)) < needed or (comparison is None and not here.is_counted):
        return Outcome.NOT_MADE, f"{summary} The proof needs {needed} of each."
    proved = is_proved(held, here.step.effect, counted=here.is_counted)
    if comparison is None:
        word, side = "all" if proved else "not all", "above" if here.step.effect > 0 else "below"
        told = f"{summary} The values are counted, and {word} new ones lie {side} the old ones."
        return _outcome(proved), told
    return _outcome(proved), f"{summary} Student's t: {few(comparison.p_value)}."


def _images_agree(here: StepContext) -> Found:
    """Whether every image of the new level differs from every one of the old: it is no layout."""
    if here.known.one_layout:
        return Outcome.NOT_MADE, sentence(here.known.one_layout)
    if here.step.race is not None:
        told = f"Only some {here.item.iteration}s of each {here.item.image} show the change."
        return Outcome.NOT_MADE, told
    before, after = (_image_means(here.samples, side) for side in (here.before, here.after))
    old, new = len(before), len(after)
    summary = f"{count(old, 'build')} before and {new} after the step were measured."
    if old == new == 1:
        summary = "One build of each side was measured."
    effects = [new / old - 1 for old in before for new in after if old]
    if not effects:
        return Outcome.NOT_MADE, summary
    least = min(effects, key=lambda effect: effect / here.step.effect)
    if least / here.step.effect < _PRESENT_SHARE:
        told = f"The relinked builds do not agree: two of them differ by {percent(least)} only."
        return Outcome.FAILED, told
    if min(old, new) < _IMAGES_OF_A_LEVEL:
        told = f"{summary} The difference may come from the layout in memory."
        return Outcome.NOT_MADE, told + " The job cannot relink." * here.known.one_order
    of = "of each side" if old == new else f"before and {new} after the step"
    told = f"{old} relinked builds {of} agree. Any two differ by {percent(least)} or more."
    return Outcome.PASSED, told


def _setup_alike(here: StepContext) -> Found:
    """Whether the lab reported the same of both sides: nothing but what is built changed."""
    place = here.item.place
    facts = setup(here.known.images, here.before, here.after)
    if not facts:
        return Outcome.NOT_MADE, f"The {place} reported no facts."
    if differing := [fact.name for fact in facts if fact.differs]:
        return Outcome.FAILED, f"These facts differ: {', '.join(differing)}. See the setup."
    told = f"The {place} was the same for both sides: {count(len(facts), 'fact')} agree."
    return Outcome.PASSED, told


def _still_present(here: StepContext) -> Found:
    """Whether the newest revision that was measured still shows the step."""
    newest = _newest(here)
    old = here.step.contrast.old.values
    if not newest or not old or not fmean(old):
        return Outcome.NOT_MADE, f"No revision after {here.step.new.label} was measured."
    values = [value for sample in newest for value in sample.values]
    summary = f"{newest[0].label}{_behind(newest[0], here)}"
    if len(values) < here.values_that_prove:
        return Outcome.NOT_MADE, f"{summary} has {count(len(values), here.item.iteration)} only."
    effect = fmean(values) / fmean(old) - 1
    present = effect / here.step.effect >= _PRESENT_SHARE
    beside = f"{'below' if effect < 0 else 'above'} {here.step.contrast.old.label}"
    told = f"{summary} is {size(effect)} {beside}."
    if present and here.steps_ahead:
        lie = "lies" if here.steps_ahead == 1 else "lie"
        told += f" {count(here.steps_ahead, 'other step')} {lie} between."
        return Outcome.NOT_MADE, told
    return _outcome(present), told


def _control_healthy(here: StepContext) -> Found | None:
    """Whether a kernel that never changes measured what it always did, around the same time."""
    control = here.known.control
    if control is None:
        return None
    if control.held:
        return Outcome.FAILED, f"The testbed is in quarantine: {control.label} is off its level."
    if control.last_good_s is None or control.rounds < _ROUNDS_OF_A_LEVEL:
        return Outcome.NOT_MADE, f"The level of {control.label} is not known yet."
    sides = {*here.before, *here.after}
    boots = [i.at_s for s in here.samples if s.position in sides for i in s.iterations]
    late_s = max(boots, default=0.0) - control.last_good_s
    if late_s > _OVERDUE * control.every_s:
        last = f"{duration(late_s)} before the last {here.item.iteration}"
        return Outcome.NOT_MADE, f"{control.label} was last measured {last}."
    return Outcome.PASSED, (
        f"The control image {control.label} stayed within {size(control.spread)} of its level in "
        f"{count(control.rounds, 'round')}."
    )


def _binary_differs(here: StepContext) -> Found:
    """Whether what was built on both sides of the step differs at all."""
    built = here.item.built
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
        return Outcome.NOT_MADE, f"The digest of {missing.label}'s {built} is not known."
    differ = held[0] != held[1]
    verb = "differs from" if differ else "is the same as"
    parent = "its parent's" if old.sha == new.parent_sha else f"{old.label}'s"
    return _outcome(differ), f"{new.label}'s {built} {verb} {parent}."


def _boots(held: Contrast, item: ItemUnderTest) -> str:
    """`5 boots each`, or how many of which revision."""
    old, new = len(held.old.values), len(held.new.values)
    if old == new:
        return f"{count(old, item.iteration)} each"
    return f"{count(old, item.iteration)} of {held.old.label}, {new} of {held.new.label}"


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
    """The samples of the newest revisions, as many as prove a level; newest first."""
    behind = [sample for sample in here.samples if sample.values and sample.position >= here.ahead]
    culprit = here.between.revisions.index(here.step.new)
    taken: list[Sample] = []
    for sample in sorted(behind, key=lambda sample: -sample.position):
        enough = sum(len(one.values) for one in taken) >= here.values_that_prove
        if sample.position <= culprit or enough:
            break
        taken.append(sample)
    return taken


def _behind(sample: Sample, here: StepContext) -> str:
    if here.known.tip is None:
        return ""
    distance = here.known.tip.position - here.between.old.position - sample.position
    return ", the tip," if distance <= 0 else f", {count(distance, 'commit')} before the tip,"
