"""The rounds of boots that a change needs before an alarm, and the proof of an alarm.

Each round has a fixed goal, so that they end:

1. up to 3 boots of the new image, in case the first is an outlier;
2. while build noise or luck (core.contrast.denial) could explain the change: a further image of
   the new revision, at most MOST_IMAGES, unless two of them deny it, or a further image of the
   anchor;
3. fresh boots of the anchor and of the new revision, side by side, as many as show the change
   (`boots_needed`);
4. `fresh` boots of each side, then twice as many, while undecided.

They end early when fresh boots of both sides surely deny the change. An alarm needs evidence that
only one judgement in `evidence_needed` reaches by chance, luck with images as rare (both share the
false alarms: _WAYS_TO_ERR), and fresh boots of both sides that show the change again.
"""

import math

from scipy.special import ndtri

from buildbot_bench.core.contrast.denial import MOST_IMAGES, is_beyond_layout
from buildbot_bench.core.judge.finding import Finding, JudgedSide
from buildbot_bench.core.judge.images import Image
from buildbot_bench.core.judge.model import JudgePolicy, Remeasure
from buildbot_bench.core.ministat import MIN_VALUES
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import Noise

_WAYS_TO_ERR = 3  # noise, luck with new images, luck with old ones: they share the false alarms
_TWO = 2  # boots of each new image
ENOUGH_FOR_OUTLIERS = 3  # boots, of which one may be an outlier
_DENIED = 0.99  # how sure they must be to end the matter
_RATHER = 0.5  # the same when there will be no more of them
_LIKELY = 1.0  # standard errors to spare, so that most changes are shown by the first fresh boots
_APART = 3.0  # standard errors from the middle at which a boot tells two levels apart
LAST_ROUND = 2  # times `fresh`
TOO_MANY = 8  # times `fresh`, of earlier positions: the place of the change moves to and fro

Requests = tuple[Remeasure, ...]


def is_proven(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether to raise the alarm."""
    enough = finding.log_evidence >= math.log(policy.evidence_needed)
    return enough and not is_luck(finding, policy) and is_confirmed(finding, noise, policy)


def is_confirmed(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether fresh boots of both sides are there and show the change again."""
    if _fewer_side(finding) < boots_needed(finding.difference, noise, policy):
        return False
    return not _booted_once(finding) and finding.shown_again(noise) >= constants.SHOWN_AGAIN


def is_luck(finding: Finding, policy: JudgePolicy) -> bool:
    """Whether luck with the images of a side is likelier than the policy bears.

    Where no further image can be made, only those that are there may deny it.
    """
    sides = (finding.old_side, finding.new_side)
    if finding.is_layout or any(side.votes.contradicted for side in sides):
        return True
    if is_beyond_layout(finding.difference) or not policy.images:
        return False
    return any(_stands_on_too_few(side, policy) for side in sides)


def is_denied(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether fresh boots of both sides deny what history says: then the lab stands elsewhere.

    They do when they are sure of it, or when all that are asked for rather deny it than not.
    """
    boots = _fewer_side(finding)
    if finding.log_evidence < math.log(policy.evidence_needed):
        return False
    if boots < boots_needed(finding.difference, noise, policy):
        return False
    sure = _DENIED if boots < LAST_ROUND * policy.fresh else _RATHER
    return finding.denied(noise) >= sure


def boots_needed(difference: float, noise: Noise, policy: JudgePolicy) -> int:
    """So many fresh boots of each side as show the difference, not fewer than Student's t needs.

    n = 2·((z + 1)·sigma_run/difference)² with z the quantile of SHOWN_AGAIN, at most `fresh`.
    """
    reach = (float(ndtri(constants.SHOWN_AGAIN)) + _LIKELY) * noise.sigma_run
    return min(policy.fresh, max(MIN_VALUES, math.ceil(2 * (reach / difference) ** 2)))


def next_round(finding: Finding, noise: Noise, policy: JudgePolicy, unused: int) -> Requests:
    """What to measure next; nothing when more boots and images would not decide it.

    `unused` is the number of the anchor's next image.
    """
    worth = math.log(policy.worth_boots)
    missing = min(ENOUGH_FOR_OUTLIERS, policy.fresh + 1) - sum(
        len(image.boots) for image in finding.new
    )
    if missing > 0 and max(finding.log_best, finding.log_limit) >= worth:
        return (_ask(finding.new[0], missing),)
    if missing > 0 or finding.log_best < worth:
        return ()
    if finding.older_fresh >= TOO_MANY * policy.fresh or finding.is_sure_layout(noise):
        return ()
    if is_denied(finding, noise, policy):
        return ()
    needed = math.log(policy.evidence_needed)
    if max(finding.log_evidence, finding.log_limit) < needed or is_luck(finding, policy):
        return _further_image(finding, noise, policy, unused)
    return _fresh_boots(finding, noise, policy)


def _further_image(finding: Finding, noise: Noise, policy: JudgePolicy, unused: int) -> Requests:
    """Another build of the new revision, or of the anchor: more boots of the same would not do."""
    position = finding.anchor.position
    if not _is_old_side_short(finding, policy):
        position, unused = finding.new[0].position, max(image.image for image in finding.new) + 1
    if not policy.images or unused >= MOST_IMAGES:
        return ()
    boots = _boots_that_tell(finding.difference, noise)
    return (Remeasure(position=position, image=unused, iterations=boots),)


def _fresh_boots(finding: Finding, noise: Noise, policy: JudgePolicy) -> Requests:
    """Boots of both sides up to the next goal; each of the new images is booted twice at least."""
    have = _fewer_side(finding)
    goals = (
        boots_needed(finding.difference, noise, policy),
        policy.fresh,
        LAST_ROUND * policy.fresh,
    )
    goal = next((goal for goal in goals if have < goal), 0)
    once = _booted_once(finding)
    of_old = goal - len(finding.old_fresh)
    beside = 1 if of_old > 0 and not once else 0  # the lab may have changed since the last ones
    missing = (
        (finding.anchor, of_old),
        (finding.new[0], max(goal - len(finding.new_fresh) - len(once), beside)),
        *((image, 1) for image in once),
    )
    return tuple(_ask(image, boots) for image, boots in missing if boots > 0)


def _booted_once(finding: Finding) -> tuple[Image, ...]:
    """Those of the new images whose only boot may have gone wrong."""
    return tuple(image for image in finding.new if len(image.boots) < _TWO)


def _is_old_side_short(finding: Finding, policy: JudgePolicy) -> bool:
    short = _stands_on_too_few(finding.old_side, policy)
    return short and not finding.is_layout and not _stands_on_too_few(finding.new_side, policy)


def _stands_on_too_few(side: JudgedSide, policy: JudgePolicy) -> bool:
    return not side.votes.stands or side.luck * _WAYS_TO_ERR * policy.evidence_needed > 1


def _boots_that_tell(difference: float, noise: Noise) -> int:
    """So many that the level of a further image is separated from that of the other side."""
    boots = math.ceil((2 * _APART * noise.sigma_run / difference) ** 2)
    return min(ENOUGH_FOR_OUTLIERS, max(1, boots))


def _fewer_side(finding: Finding) -> int:
    return min(len(finding.old_fresh), len(finding.new_fresh))


def _ask(image: Image, iterations: int) -> Remeasure:
    return Remeasure(position=image.position, image=image.image, iterations=iterations)
