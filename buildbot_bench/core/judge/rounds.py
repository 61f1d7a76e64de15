"""What is still to be measured before a change can be believed, and when it can.

Each round has a fixed goal, so that they end:

1. up to 3 boots of the new image: was the first an outlier? (If more boots could tell at all.)
2. while build noise could explain what is seen: a further image of the new revision, at most 5,
   unless two of them say surely that it is layout;
3. `fresh` boots of the anchor and of the new revision, side by side;
4. a further image, if there is none yet and layout may do that much: history tells how much
   images differ mostly, not how unlucky one can be; more, as in 2, if that shows no change;
5. twice as many boots as in 3, if that left it open.

An alarm needs evidence that only one judgement in `evidence_needed` reaches by chance, and fresh
boots of both sides and further images that show the change again.
"""

from __future__ import annotations

import math

from buildbot_bench.core.judge.finding import Finding
from buildbot_bench.core.judge.images import Image
from buildbot_bench.core.judge.layout import BEYOND_LAYOUT
from buildbot_bench.core.judge.model import JudgePolicy, Remeasure
from buildbot_bench.core.noise import Noise

MAX_IMAGES = 5  # of the new revision
_IMAGES_THAT_DIFFER = 2  # images that show how far apart they lie: the fewest that can
ENOUGH_FOR_OUTLIERS = 3  # boots, of which one may be an outlier
FAIR = 1.0  # the Bayes factor at which a change is as likely as at any other commit
SHOWN_AGAIN = 0.99  # how sure fresh boots alone must be: history may have drifted, they have not
LAST_ROUND = 2  # times `fresh`
TOO_MANY = 8  # times `fresh`, of earlier positions: the place of the change moves to and fro


def is_proven(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether to raise the alarm."""
    enough = finding.log_evidence >= math.log(policy.evidence_needed)
    return enough and is_confirmed(finding, noise, policy) and not _lacks_image(finding, policy)


def is_confirmed(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether fresh boots of both sides are there and show the change again, in all layouts."""
    enough = _fewer_side(finding) >= policy.fresh and not finding.is_layout
    return enough and finding.shown_again(noise) >= SHOWN_AGAIN


def is_exhausted(finding: Finding, policy: JudgePolicy) -> bool:
    """Whether the last round was run."""
    return _fewer_side(finding) >= LAST_ROUND * policy.fresh


def next_round(finding: Finding, noise: Noise, policy: JudgePolicy) -> tuple[Remeasure, ...]:
    """What to measure next; nothing when more boots and images would not decide it."""
    missing = min(ENOUGH_FOR_OUTLIERS, policy.fresh + 1) - sum(
        len(image.boots) for image in finding.new
    )
    if missing > 0 and max(finding.log_best, finding.log_limit) >= math.log(FAIR):
        return (_ask(finding.new[0], missing),)
    if missing > 0 or finding.log_best < math.log(FAIR):
        return ()
    if finding.older_fresh >= TOO_MANY * policy.fresh or finding.is_sure_layout(noise):
        return ()
    needed = math.log(policy.evidence_needed)
    if max(finding.log_evidence, finding.log_limit) < needed or finding.is_layout:
        return _further_image(finding, policy)
    if is_confirmed(finding, noise, policy) and _lacks_image(finding, policy):
        return _further_image(finding, policy)
    goal = policy.fresh if _fewer_side(finding) < policy.fresh else LAST_ROUND * policy.fresh
    sides = ((finding.anchor, finding.old_fresh), (finding.new[0], finding.new_fresh))
    return tuple(_ask(image, goal - len(have)) for image, have in sides if len(have) < goal)


def _further_image(finding: Finding, policy: JudgePolicy) -> tuple[Remeasure, ...]:
    """Another build of the new revision: more boots of the same would not do."""
    if not policy.images or len(finding.new) >= MAX_IMAGES:
        return ()
    unused = max(image.image for image in finding.new) + 1
    return (
        Remeasure(position=finding.new[0].position, image=unused, iterations=ENOUGH_FOR_OUTLIERS),
    )


def _lacks_image(finding: Finding, policy: JudgePolicy) -> bool:
    small = abs(finding.difference) < BEYOND_LAYOUT
    return small and policy.images and len(finding.new) < _IMAGES_THAT_DIFFER


def _fewer_side(finding: Finding) -> int:
    return min(len(finding.old_fresh), len(finding.new_fresh))


def _ask(image: Image, iterations: int) -> Remeasure:
    return Remeasure(position=image.position, image=image.image, iterations=iterations)
