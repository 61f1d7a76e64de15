"""When to stop and what to answer; it chooses no probe.

The search is done when all relevant steps sit between neighbours that were measured and confirmed,
and what the answer leaves out has together no more than the accepted probability.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from buildbot_bench.core.search.belief import Belief
from buildbot_bench.core.search.ground import Ground, IntArray
from buildbot_bench.core.search.model import Answer, SearchPolicy, Step, Suspect

# On some machines a fifth of the boots is slower, by three deviations of the noise or so, and until
# that was seen such a machine looks like any other. Each halving of the range is a chance to take a
# slow boot for a change; so many of one kernel in a row are slow in about one of 150 searches. The
# mean of k boots may lie further off than the mode, by _UNSURE / sqrt(k) deviations of the noise.
# Where it lies further than that, one more boot confirms the first.
_BOOTS_AGAINST_A_MODE = 4
_MODE, _UNSURE = 3.0, 2.0  # deviations of the noise, as told above
_BOOTS = 2  # of a kernel beside a step; chosen: one boot may be an outlier
_BOOTS_OF_END = 3  # boots; chosen: one may be an outlier, and two must agree
_LIKELY = 0.5  # a probability: rather a step than none
_NORMAL_95 = 1.959964  # standard deviations: ndtri(0.975)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """Which gaps hold a step that needs nothing more, and which need what.

    `found`: gaps with a step between neighbours; `open`: gaps that may hold one; `unconfirmed`:
    measured kernels beside found gaps that were booted too seldom. `doubt` is the probability that
    the answer would be wrong if it were given now.
    """

    found: tuple[int, ...]
    open: tuple[int, ...]
    unconfirmed: tuple[int, ...]
    doubt: float


def look(ground: Ground, belief: Belief, policy: SearchPolicy) -> Outlook:
    """Sort the gaps between measured kernels into found, open and idle ones."""
    kernels = belief.readings.kernels
    narrow = np.array([not len(ground.candidates(int(a), int(b))) for a, b in pairwise(kernels)])
    large = belief.relevant > 0.5 * belief.step
    likely = narrow & large & (belief.step > _LIKELY)
    # The error is for the whole answer: several steps share it.
    found = likely & (belief.step >= 1 - policy.error / max(int(likely.sum()), 1))
    # Less than min_effect is sought only until a step is found that explains a claim as small.
    explained = bool((found & (belief.change * (policy.claimed or 0.0) > 0)).any())
    missed = np.where(found, 0.0, belief.further if explained else belief.relevant)
    # What a found step lacks is what others have: the same doubt, seen twice.
    doubt = max(float(missed.sum()), float((1 - belief.step[found]).sum()))
    order = np.argsort(-missed, kind="stable")
    left_over = missed.sum() - np.cumsum(missed[order])
    needed = 1 + int(np.argmax(left_over <= policy.error / 2))
    is_open = order[:needed] if missed.sum() > policy.error else order[:0]
    return Outlook(
        found=tuple(np.flatnonzero(found).tolist()),
        open=tuple(sorted(is_open.tolist())),
        unconfirmed=tuple(sorted(_booted_too_seldom(belief, policy, np.flatnonzero(found)))),
        doubt=doubt,
    )


def _booted_too_seldom(belief: Belief, policy: SearchPolicy, found: IntArray) -> set[int]:
    """The slower kernels beside found steps whose boots may all have been slow ones by chance."""
    level = belief.views[0].levels()[0]
    wanting = set()
    for gap in map(int, found):
        is_new_slower = (level[gap + 1] < level[gap]) == policy.higher_is_better
        slower, faster = (gap + 1, gap) if is_new_slower else (gap, gap + 1)
        values = belief.readings.values[belief.readings.place_of_value == slower]
        away = abs(float(values.mean()) - float(level[faster])) / belief.views[0].noise.total
        is_near = away < _MODE + _UNSURE / np.sqrt(len(values))
        may_be_slow = is_near and belief.may_have_modes
        if len(values) < (_BOOTS_AGAINST_A_MODE if may_be_slow else _BOOTS):
            wanting.add(slower)
    return wanting


def ends_are_equal(belief: Belief, policy: SearchPolicy) -> bool:
    """Whether it is proved that nothing relevant changed: no step inside, no difference outside."""
    boots = np.bincount(belief.readings.place_of_value)
    return (
        belief.ends_differ <= policy.error
        and float(belief.sought.sum()) <= policy.error
        and min(boots[0], boots[-1]) >= _BOOTS_OF_END
    )


def suspected(ground: Ground, belief: Belief, outlook: Outlook) -> tuple[Suspect, ...]:
    """The places that may hold a step, the likeliest first."""
    gaps = sorted({*outlook.found, *outlook.open}, key=lambda g: (-belief.step[g], g))
    return tuple(
        Suspect(
            old=_old(ground, belief, g),
            new=int(belief.readings.kernels[g + 1]),
            probability=min(float(belief.step[g]), 1.0),
            effect=float(np.expm1(belief.change[g])),
        )
        for g in gaps
    )


def conclude(ground: Ground, belief: Belief, outlook: Outlook, reason: str) -> Answer:
    """The answer as things stand."""
    steps = tuple(_step(ground, belief, g) for g in outlook.found)
    inside = _joined(
        (_old(ground, belief, g), int(belief.readings.kernels[g + 1])) for g in outlook.open
    )
    return Answer(
        steps=steps,
        reproduced=bool(steps or inside),
        unresolved=_with_ends(ground, belief, inside),
        reason=reason,
    )


def not_reproduced(ground: Ground, belief: Belief) -> Answer:
    """The answer when nothing that matters changed between the ends."""
    return Answer(
        steps=(),
        reproduced=False,
        unresolved=_with_ends(ground, belief, []),
        reason="the ends do not differ by as much as what was searched for",
    )


def _step(ground: Ground, belief: Belief, gap: int) -> Step:
    change, sd = float(belief.change[gap]), float(belief.change_sd[gap])
    return Step(
        old=_old(ground, belief, gap),
        new=int(belief.readings.kernels[gap + 1]),
        effect=float(np.expm1(change)),
        low=float(np.expm1(change - _NORMAL_95 * sd)),
        high=float(np.expm1(change + _NORMAL_95 * sd)),
        probability=min(float(belief.step[gap]), 1.0),
    )


def _old(ground: Ground, belief: Belief, gap: int) -> int:
    """The last position with the kernel at the gap's old side."""
    return ground.last_with(int(belief.readings.kernels[gap]))


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ascending ranges (old, new], those that touch made one."""
    joined: list[tuple[int, int]] = []
    for old, new in ranges:
        if joined and joined[-1][1] >= old:
            joined[-1] = (joined[-1][0], new)
        else:
            joined.append((old, new))
    return joined


def _with_ends(
    ground: Ground, belief: Belief, inside: list[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The unresolved ranges, with what lies beyond ends that cannot be tested."""
    first, last = int(belief.readings.kernels[0]), int(belief.readings.kernels[-1])
    before = [(0, first)] if first > 0 else []
    after = [(ground.last_with(last), ground.n)] if ground.last_with(last) < ground.n else []
    return (*before, *inside, *after)
