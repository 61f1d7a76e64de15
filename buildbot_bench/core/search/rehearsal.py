"""The rehearsal of one search, with values drawn from a sampled truth.

A long search gets several boots of a kernel at once, so that b boots of kernels that were booted
before take 25 · atan(b / 25) decisions: less than forty.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import exp, log1p, log2

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.kinds import plan
from buildbot_bench.core.search.model import (
    PREBUILT,
    Answer,
    Costs,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
)
from buildbot_bench.core.search.noise_model import ladders
from buildbot_bench.core.search.truths import Truth


@dataclass(kw_only=True, slots=True)
class Timeline:
    """Builders and a testbed on one clock, in seconds; `made` are the images that are there.

    `builds` counts those that were asked for, not those that were made ahead in vain.

    A build that is demanded displaces the one that would be ready last. While the testbed waits for
    a build it boots what it has; that takes from the boots of such images that are asked for later.
    """

    costs: Costs
    made: set[Image]
    now_s: float = 0.0
    builds: int = 0
    _building: dict[Image, float] = field(default_factory=dict)
    _ahead: set[Image] = field(default_factory=set)
    _idle_s: float = 0.0

    def boot(self, image: Image, ahead: tuple[int, ...]) -> float:
        """Boot an image, built first if it is not there; the time when it began."""
        at_hand = image in self.made and image not in self._ahead
        self.build(image, ahead)
        began_s, takes_s = self.now_s, self.costs.boot_s + self.costs.run_s
        if at_hand:
            saved_s = min(self._idle_s, takes_s)
            self._idle_s -= saved_s
            takes_s = (takes_s - saved_s) / max(self.costs.testbeds, 1)
        self.now_s += takes_s
        return began_s

    def build(self, image: Image, ahead: tuple[int, ...]) -> None:
        """Wait until an image is built; meanwhile free builders build ahead."""
        self._finish()
        builders = max(self.costs.builders, 1)
        if image not in self.made and image not in self._building:
            self.builds += 1
            if len(self._building) >= builders:
                last = max(self._building, key=lambda one: self._building[one])
                del self._building[last]
                self._ahead.discard(last)
            self._building[image] = self.now_s + self.costs.build_s
        elif image in self._ahead:
            self.builds += 1
            self._ahead.remove(image)
        for position in ahead:
            other = (position, 0)
            known = other in self.made or other in self._building
            if len(self._building) < builders and not known:
                self._building[other] = self.now_s + self.costs.build_s
                self._ahead.add(other)
        if image not in self.made:
            ready_s = self._building[image]
            self._idle_s += ready_s - self.now_s
            self.now_s = ready_s
            self._finish()

    def _finish(self) -> None:
        for image in [one for one, ready_s in self._building.items() if ready_s <= self.now_s]:
            del self._building[image]
            self.made.add(image)


# After so many boots two are given at once; after twice as many, five.
_BOOTS_A_BATCH = 25
# Of all decisions of a rehearsal; what a longer one would still take is reckoned (`_longer`).
_MOST_EFFORT = 29.0
_MOST_LONGER = 4.0
# Standard errors: 2.6 for an error of 1 %, and some for ends that seem to differ.
_SURELY = 3.0
# Images that take a decision as long as all else of it; measured. Their pairs are what takes time.
_IMAGES_OF_ONE = 18
# Hypotheses of the noise; with more of them a decision takes longer, though not all are weighed.
_HYPOTHESES_OF_ONE = 18
# Run noises between the levels that take as long again: the grid of levels is that much finer.
_NOISES_OF_ONE, _LEAST_NOISE = 5000.0, 1e-6

Image = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """What a search took; `plans` were asked, each of so many values: `effort` adds them up."""

    iterations: float
    images: float
    hours: float
    effort: float


@dataclass(kw_only=True, slots=True)
class _Lab:
    """Draws values of a truth; images that were measured keep the luck that was seen."""

    truth: Truth
    rng: np.random.Generator
    luck: dict[Image, float] = field(default_factory=dict)
    made: int = 0

    def measure(self, image: Image, at_s: float) -> Measurement:
        """One iteration."""
        position, number = image
        return Measurement(position=position, image=number, value=self._value(image), at_s=at_s)

    def _value(self, image: Image) -> float:
        noise = self.truth.noise
        if image not in self.luck:
            self.luck[image] = self._luck()
        mode = noise.mode_offset if self.rng.random() < noise.mode_share else 0.0
        level = float(self.truth.level[image[0]]) + self.luck[image] + mode
        return exp(level + float(self.rng.normal(0, noise.run)))

    def _luck(self) -> float:
        luck = float(self.rng.normal(0, self.truth.noise.build))
        if self.made == self.truth.odd_image:
            luck += float(self.rng.uniform(-1, 1)) * constants.FAR_REACH
        self.made += 1
        return luck


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A search of 0..n as it stands, and the `first` thing that it asks for."""

    n: int
    costs: Costs
    policy: SearchPolicy
    evidence: Evidence
    first: Measure


def rehearse(question: Question, truth: Truth, seed: int) -> Course:
    """The course of one search from today's evidence to its answer."""
    n, costs, policy, evidence = question.n, question.costs, question.policy, question.evidence
    lab = _Lab(
        truth=truth,
        rng=np.random.default_rng([1, seed]),
        luck=_seen_luck(evidence, truth),
    )
    clock = Timeline(costs=costs, made={(m.position, m.image) for m in evidence.measurements})
    clock.made |= {(position, 0) for position in evidence.built}
    clock.made |= {(position, PREBUILT) for position in evidence.prebuilt}
    broken = _broken(n, evidence)
    began_s = max((m.at_s for m in evidence.measurements), default=0.0)
    boots, more, effort = 0, 0, 0.0
    breadth = _breadth(policy, truth)
    request: Measure | Answer = question.first
    while isinstance(request, Measure) and effort < _MOST_EFFORT:
        if request.position in broken:
            clock.build((request.position, request.image), request.prefetch)
            evidence = replace(evidence, untestable=evidence.untestable | {request.position})
        else:
            measured = tuple(
                lab.measure(image, began_s + clock.boot(image, request.prefetch))
                for image in _batch(request, evidence, boots)
            )
            boots, more = boots + len(measured), len(measured) - 1
            evidence = replace(evidence, measurements=(*evidence.measurements, *measured))
        request = plan(n, evidence, costs, policy)
        effort += _effort(evidence) * breadth
    longer = _longer(question, truth, evidence, boots) if isinstance(request, Measure) else 1.0
    # Of the last that were given together, half were enough on average.
    return Course(
        iterations=longer * (boots - more / 2),
        images=longer * clock.builds,
        hours=longer * clock.now_s / 3600,
        effort=effort,
    )


def _longer(question: Question, truth: Truth, evidence: Evidence, boots: int) -> float:
    """How many times as long an unfinished search takes in all, by what its steps still lack.

    Each lacks the bits of its place, and the boots of both sides that prove them; where there is
    none, the ends lack the boots that show it.
    """
    least = log1p(question.policy.min_effect) / 2
    commits = 1 + np.flatnonzero(np.abs(np.diff(truth.level)) >= least)
    before = sum(_lacks(int(commit), question, question.evidence) for commit in commits)
    left = sum(_lacks(int(commit), question, evidence) for commit in commits)
    if not before:
        return 1 + _ends_lack(question, truth, evidence) / max(boots, 1)
    return before / max(before - left, before / _MOST_LONGER)


def _ends_lack(question: Question, truth: Truth, evidence: Evidence) -> float:
    """The boots until the ends are known not to differ, about.

    Of n boots each, the difference has a standard error of s·sqrt(2/n), of which `sought_effect`
    is to be _SURELY times as much.
    """
    boots = Counter(m.position for m in evidence.measurements)
    sought = log1p(question.policy.sought_effect)
    needed = 2 * (_SURELY * truth.noise.total / sought) ** 2
    needed = min(needed, question.policy.max_measurements / 2)
    return sum(max(needed - boots[end], 0.0) for end in (0, question.n))


def _lacks(commit: int, question: Question, evidence: Evidence) -> float:
    boots = Counter(m.position for m in evidence.measurements)
    old = max((p for p in boots if p < commit), default=0)
    new = min((p for p in boots if p >= commit), default=question.n)
    fewest = question.policy.values_that_prove
    if new - old > 1:
        return log2(new - old) + 2 * fewest
    return float(sum(max(fewest - boots[p], 0) for p in (old, new)))


def _batch(request: Measure, evidence: Evidence, boots: int) -> list[Image]:
    """The boots to give at once: of the image again, or of further images where it is a new one."""
    here = {m.image for m in evidence.measurements if m.position == request.position}
    if not here:
        return [(request.position, request.image)]
    count = 1 + int((boots / _BOOTS_A_BATCH) ** 2)
    new = request.image not in here
    return [(request.position, request.image + (k if new else 0)) for k in range(count)]


def _breadth(policy: SearchPolicy, truth: Truth) -> float:
    """How many times as long decisions take, by the hypotheses and the span of the levels."""
    hypotheses = sum(len(ladder) for ladder in ladders(policy)) / _HYPOTHESES_OF_ONE
    span = float(np.ptp(truth.level)) / max(truth.noise.run, _LEAST_NOISE) / _NOISES_OF_ONE
    return max(hypotheses, 1.0) + span


def _effort(evidence: Evidence) -> float:
    """How long a decision takes, in decisions of a short search; measured."""
    images = {(m.position, m.image) for m in evidence.measurements}
    return 1.0 + (len(images) / _IMAGES_OF_ONE) ** 2 if len(images) > 1 else 0.0


def _seen_luck(evidence: Evidence, truth: Truth) -> dict[Image, float]:
    """What images that were measured are off their level by, as far as boots show."""
    run, build = truth.noise.run, truth.noise.build
    values: dict[Image, list[float]] = {}
    for m in evidence.measurements:
        values.setdefault((m.position, m.image), []).append(m.value)
    return {
        image: build**2
        / (build**2 + run**2 / len(here) + 1e-18)
        * float(np.log(max(np.median(here), 1e-300)) - truth.level[image[0]])
        for image, here in values.items()
    }


def _broken(n: int, evidence: Evidence) -> frozenset[int]:
    """What is presumed not to build: what lies between two that do not, and no tested one."""
    tested = sorted({m.position for m in evidence.measurements} | evidence.built | {0, n})
    broken: set[int] = set(evidence.untestable)
    for position in evidence.untestable:
        old = max((t for t in tested if t < position), default=0)
        new = min((t for t in tested if t > position), default=n)
        inside = [p for p in evidence.untestable if old < p < new]
        broken.update(range(min(inside), max(inside) + 1))
    return frozenset(broken)
