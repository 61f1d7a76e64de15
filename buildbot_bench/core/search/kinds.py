"""A search by two kinds of images: prebuilt ones narrow the range, the search's own prove the step.

Values of two kinds are not compared: another compiler or configuration moves a level as a commit
does. The prebuilt images are a search of their own, of the revisions that have one. Where that
finds a step, own builds search between its two revisions. At a step of BEYOND_LAYOUT and more the
prebuilt images of these two stand for them until own builds lie on both sides, moved by what the
two kinds differ by at revisions that have both. They tell the sides apart, and prove nothing: a
step beside such an end is answered when that end has an own build. What one image of a revision
cannot resolve beside a step so large stays unresolved in the answer. Where the kinds disagree, own
builds search all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import log, log1p
from statistics import median

from buildbot_bench.core.contrast.denial import is_beyond_layout
from buildbot_bench.core.search import planner
from buildbot_bench.core.search.model import (
    PREBUILT,
    Answer,
    Costs,
    Evidence,
    Measure,
    Measurement,
    OddImage,
    SearchPolicy,
    Slope,
    SlopePart,
    Step,
    Suspect,
)

_WORTH_IT = 8
"""Prebuilt images from which on they are asked first: fewer save less than log2(8) builds."""
_EXPLAINS = 0.75
"""Of a step: what own builds show of it when prebuilt images need not stand for its sides. A
further step that is left out then is less than the rest, and was none that these images show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part:
    """A search of some positions of the range: `places` are those, ascending.

    `found` are the steps that own builds located before. For `stand_ins`, of its ends, prebuilt
    images stand.
    """

    places: Sequence[int]
    evidence: Evidence
    policy: SearchPolicy
    found: tuple[Step, ...] = ()
    coarse: Answer | None = None
    stand_ins: frozenset[int] = frozenset()
    prebuilt: bool = False

    @property
    def question(self) -> tuple[int, Evidence]:
        """How many commits, and what is known of them."""
        return len(self.places) - 1, self.evidence

    def asks(self, wanted: Measure) -> Measure:
        """The same iteration by the whole range's positions."""
        ahead = () if self.prebuilt else tuple(self.places[p] for p in wanted.prefetch)
        return Measure(
            position=self.places[wanted.position],
            image=PREBUILT if self.prebuilt else wanted.image,
            prefetch=tuple(position for position in ahead if position not in self.stand_ins),
        )

    def says(self, answer: Answer) -> Answer:
        """The same answer by the whole range's positions, with what was found before."""
        at = self.places
        before = self.coarse
        return Answer(
            steps=(*self.found, *(self._step(step) for step in answer.steps)),
            reproduced=answer.reproduced or bool(self.found),
            unresolved=(
                *(before.unresolved if before else ()),
                *((at[old], at[new]) for old, new in answer.unresolved),
            ),
            reason=answer.reason,
            slopes=tuple(
                Slope(whole=self._part(one.whole), parts=tuple(map(self._part, one.parts)))
                for one in answer.slopes
            ),
            left_out=min(1.0, answer.left_out + (before.left_out if before else 0.0)),
            odd_images=tuple(self._odd(one) for one in answer.odd_images),
        )

    def suspects(self, suspect: Suspect) -> Suspect:
        """The same suspect by the whole range's positions."""
        return replace(suspect, old=self.places[suspect.old], new=self.places[suspect.new])

    def _step(self, step: Step) -> Step:
        at = self.places
        return replace(
            step,
            old=at[step.old],
            new=at[step.new],
            believed=tuple((at[first], at[last]) for first, last in step.believed),
            untried=tuple((at[first], at[last]) for first, last in step.untried),
        )

    def _part(self, part: SlopePart) -> SlopePart:
        return replace(part, old=self.places[part.old], new=self.places[part.new])

    def _odd(self, odd: OddImage) -> OddImage:
        image = PREBUILT if self.prebuilt else odd.image
        return replace(odd, position=self.places[odd.position], image=image)


def plan(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> Measure | Answer:
    """The next iteration to run, or the answer: see `planner.plan`.

    An iteration of the image PREBUILT boots the one that somebody else built of the position.
    """
    part = _now(n, evidence, costs, policy)
    if isinstance(part, Answer):
        return part
    decided = planner.plan(*part.question, costs, part.policy)
    return part.asks(decided) if isinstance(decided, Measure) else part.says(decided)


def meanwhile(
    n: int,
    evidence: Evidence,
    costs: Costs,
    policy: SearchPolicy,
    pending: tuple[tuple[int, int], ...] = (),
) -> Measure | None:
    """What a testbed can measure that would idle: see `planner.meanwhile`."""
    part = _now(n, evidence, costs, policy)
    if isinstance(part, Answer):
        return None
    at = {place: number for number, place in enumerate(part.places)}
    waited = tuple((at[place], image) for place, image in pending if place in at)
    found = planner.meanwhile(*part.question, costs, part.policy, waited)
    return None if found is None else part.asks(found)


def answer_early(
    n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy, reason: str
) -> Answer:
    """What is known where a search ends before it is sure: see `planner.answer_early`.

    A step that prebuilt images alone show is not found: it is where a step may lie.
    """
    part = _now(n, evidence, costs, policy)
    if isinstance(part, Answer):
        return part
    known = part.says(planner.answer_early(*part.question, costs, part.policy, reason))
    if not part.prebuilt:
        return known
    ranges = (*((step.old, step.new) for step in known.steps), *known.unresolved)
    return replace(known, steps=(), unresolved=ranges, slopes=())


def no_change(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> float:
    """Return the probability that nothing relevant changed: see `planner.no_change`."""
    part = _now(n, evidence, costs, policy)
    if isinstance(part, Answer) or part.found:
        return 0.0
    return planner.no_change(*part.question, costs, part.policy)


def suspects(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> tuple[Suspect, ...]:
    """What may hold a step, the likeliest first: see `planner.suspects`."""
    part = _now(n, evidence, costs, policy)
    if isinstance(part, Answer):
        return tuple(
            Suspect(old=s.old, new=s.new, probability=s.probability, effect=s.effect)
            for s in part.steps
        )
    return tuple(map(part.suspects, planner.suspects(*part.question, costs, part.policy)))


@lru_cache(maxsize=2)
def _now(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> _Part | Answer:
    """The part of the search that goes on, or the answer of all parts."""
    own = tuple(m for m in evidence.measurements if m.image != PREBUILT)
    others = tuple(m for m in evidence.measurements if m.image == PREBUILT)
    plain = replace(evidence, measurements=own, prebuilt=frozenset())
    whole = _Part(places=range(n + 1), evidence=plain, policy=policy)
    places = sorted(evidence.prebuilt | {m.position for m in others})
    ready = evidence.built | {m.position for m in own}
    if len(places) < max(_WORTH_IT, len(ready)):
        return whole
    coarse = _coarse(places, others, evidence, policy)
    found = _planned(*coarse.question, costs, coarse.policy)
    if isinstance(found, Measure):
        return coarse
    large = all(is_beyond_layout(log1p(step.effect)) for step in found.steps)
    if not found.steps or (found.unresolved and not large):
        return whole
    told = coarse.says(found)
    steps: tuple[Step, ...] = ()
    answer = told
    for step in told.steps:
        part = replace(_fine(step, plain, others, policy), found=steps, coarse=told)
        decided = _planned(*part.question, costs, part.policy)
        while isinstance(decided, Answer) and (surer := _surer(part, decided, policy)):
            part = surer
            decided = _planned(*part.question, costs, part.policy)
        if isinstance(decided, Measure):
            return part
        if not decided.steps or decided.unresolved:
            return whole
        answer = part.says(decided)
        steps = answer.steps
    return answer


@lru_cache(maxsize=8)
def _planned(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> Measure | Answer:
    """What is planned of a part: those that ended are asked for with each question."""
    return planner.plan(n, evidence, costs, policy)


def _coarse(
    places: Sequence[int],
    others: Sequence[Measurement],
    evidence: Evidence,
    policy: SearchPolicy,
) -> _Part:
    """The search of the revisions that have a prebuilt image: of each there is one, to boot."""
    at = {place: number for number, place in enumerate(places)}
    same = frozenset(
        number
        for number, (old, new) in enumerate(pairwise(places), start=1)
        if evidence.same_as_previous.issuperset(range(old + 1, new + 1))
    )
    weights = policy.weights and tuple(
        sum(policy.weights[old:new]) for old, new in pairwise(places)
    )
    return _Part(
        places=places,
        evidence=Evidence(
            measurements=tuple(replace(m, position=at[m.position], image=0) for m in others),
            built=frozenset(range(len(places))),
            same_as_previous=same,
        ),
        policy=replace(policy, weights=weights, images=False),
        prebuilt=True,
    )


def _fine(
    step: Step, plain: Evidence, others: Sequence[Measurement], policy: SearchPolicy
) -> _Part:
    """The search by own builds between two revisions whose prebuilt images differ."""
    # No luck with layout makes a step that large: another image would say nothing of it.
    large = is_beyond_layout(log1p(step.effect))
    old, new = _own_sides(step, plain.measurements) if large else (step.old, step.new)
    own = tuple(m for m in plain.measurements if old <= m.position <= new)
    stand_ins = {old, new} - {m.position for m in own} if large else set()
    factor = _factor(plain.measurements, others)
    if stand_ins and factor is None:
        stand_ins.discard(old)  # its own build tells by what the kinds differ
    standing = tuple(
        replace(m, value=m.value * factor)
        for m in others
        if factor is not None and m.position in stand_ins
    )

    def within(positions: frozenset[int]) -> frozenset[int]:
        return frozenset(p - old for p in positions if old <= p <= new)

    measured = sorted((*own, *standing), key=lambda m: (m.position, m.image, m.at_s))
    return _Part(
        places=range(old, new + 1),
        evidence=Evidence(
            measurements=tuple(replace(m, position=m.position - old) for m in measured),
            untestable=within(plain.untestable),
            built=within(plain.built),
            same_as_previous=within(plain.same_as_previous - {old}),
            same_across=within(plain.same_across - {old}),
        ),
        policy=replace(
            policy,
            claimed=step.effect,
            weights=policy.weights and policy.weights[old:new],
            images=policy.images and not large,
        ),
        stand_ins=frozenset(stand_ins),
    )


def _factor(own: Sequence[Measurement], others: Sequence[Measurement]) -> float | None:
    """By what own builds differ from prebuilt ones: the median of revisions that have both."""
    here, there = _medians(own), _medians(others)
    both = [here[p] / there[p] for p in here.keys() & there.keys() if there[p] > 0]
    return median(both) if both else None


def _medians(measurements: Sequence[Measurement]) -> dict[int, float]:
    of: dict[int, list[float]] = {}
    for one in measurements:
        of.setdefault(one.position, []).append(one.value)
    return {position: median(values) for position, values in of.items()}


def _own_sides(step: Step, own: Sequence[Measurement]) -> tuple[int, int]:
    """The outermost own builds between two revisions, once these show the step by themselves."""
    level = _medians([m for m in own if step.old <= m.position <= step.new and m.value > 0])
    first, last = min(level, default=step.old), max(level, default=step.new)
    if first == last or not level:
        return step.old, step.new
    shown = log(level[last] / level[first]) / log1p(step.effect)
    return (first, last) if shown >= _EXPLAINS else (step.old, step.new)


def _surer(part: _Part, answer: Answer, policy: SearchPolicy) -> _Part | None:
    """What is to be searched where an answer rests on a stand-in, or lacks images."""
    if ends := _leaned_on(part, answer):
        return _by_own_builds(part, ends)
    separated = answer.steps and all(step.separated for step in answer.steps)
    if separated or part.policy.images == policy.images:
        return None
    return replace(part, policy=replace(part.policy, images=policy.images))


def _leaned_on(part: _Part, answer: Answer) -> frozenset[int]:
    """The ends that an answer may not rest on: those of a step, or all where it has no sure one."""
    if not answer.steps or not all(step.separated for step in answer.steps):
        return part.stand_ins
    last = len(part.places) - 1
    ends = {part.places[0] for s in answer.steps if s.old == 0}
    ends |= {part.places[last] for s in answer.steps if s.new == last}
    return part.stand_ins & ends


def _by_own_builds(part: _Part, ends: frozenset[int]) -> _Part:
    """The same part where nothing stands for some ends."""
    kept = tuple(
        m
        for m in part.evidence.measurements
        if m.image != PREBUILT or part.places[m.position] not in ends
    )
    evidence = replace(part.evidence, measurements=kept)
    return replace(part, evidence=evidence, stand_ins=part.stand_ins - ends)
