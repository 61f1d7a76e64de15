"""Whether the step that a report is about stands on enough boots of both sides to be believed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from buildbot_bench.core.judge import BEYOND_LAYOUT
from buildbot_bench.core.report import PROOF_ITERATIONS
from buildbot_bench.core.search import Answer, Evidence, SearchPolicy, Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Lacking:
    """`iterations` more of an image are needed at a position before anybody is told."""

    position: int
    iterations: int
    image: int = 0


def lacking_proof(
    answer: Answer,
    evidence: Evidence,
    policy: SearchPolicy,
    *,
    most: int,
    needed: int = PROOF_ITERATIONS,
) -> Lacking | None:
    """What the largest sure regression of an answer still lacks, if it lacks anything.

    `most` is how many iterations the search may still ask for, `needed` how many prove one side.
    """
    step = _headline(answer, policy)
    if step is None:
        return None
    counts = Counter(measurement.position for measurement in evidence.measurements)
    for position in (step.old, step.new):
        missing = min(needed - counts[position], most)
        if missing > 0:
            return Lacking(position=position, iterations=missing)
    return None


def stands_on_one_layout(answer: Answer, evidence: Evidence, policy: SearchPolicy) -> int | None:
    """The position whose one image alone shows the largest sure regression, if layout may do that.

    None when two images of it were measured, or the regression is too large for luck with layout.
    """
    step = _headline(answer, policy)
    if step is None or abs(step.effect) >= BEYOND_LAYOUT:
        return None
    images = {one.image for one in evidence.measurements if one.position == step.new}
    return step.new if len(images) < 2 else None


def _headline(answer: Answer, policy: SearchPolicy) -> Step | None:
    worse = -1 if policy.higher_is_better else 1
    steps = [
        step
        for step in answer.steps
        if step.probability >= 1 - policy.error and step.effect * worse > 0
    ]
    return max(steps, key=lambda step: abs(step.effect), default=None)
