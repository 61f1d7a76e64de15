"""The criterion that ends a search, and the search's answer.

A search ends when all relevant steps lie between measured and confirmed neighbours, and all omitted
steps together have no more than the accepted probability.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log1p

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import Answer, SearchPolicy, Step, Suspect
from buildbot_bench.core.search.proof import (
    Lacking,
    against_two_speeds,
    doubtful_ends,
    ends_unproved,
    is_denied,
    is_part_of_slope,
    is_separated,
    lacking,
)
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray, SearchRange
from buildbot_bench.core.search.slopes import (
    NORMAL_95,
    Levels,
    SlopeProof,
    change_between,
    odd_images,
    own_levels,
    slope_proof,
    slopes_between,
    step_size,
)

# Ends whose difference is known to this share of what is sought will not be told apart any better.
_KNOWN = 0.1
_LIKELY = 0.5  # a probability: rather a step than none
_WORTH_ASKING = 0.2  # of a step, from which on it may be one that only looks large


@dataclass(frozen=True, kw_only=True, slots=True)
class StopState:
    """Which gaps hold a step that needs nothing more, and which need what.

    `found`: gaps with a step between neighbours; `open`: gaps that may hold one; `unproved`: what
    found steps lack before they may be mailed; `denied`: gaps whose step the images of a side
    contradict to the last. `images` tell likely steps that are not sure from two speeds.
    `left_out` is the probability that another step lies elsewhere.
    `sloping`: the ends differ, and no gap is likely to hold a relevant step.
    """

    found: tuple[int, ...]
    open: tuple[int, ...]
    unproved: tuple[Lacking, ...]
    denied: tuple[int, ...]
    left_out: float
    sloping: bool
    images: tuple[Lacking, ...] = ()


def classify_gaps(
    search_range: SearchRange, posterior: AveragedPosterior, policy: SearchPolicy
) -> StopState:
    """Sort the gaps between measured kernels into found, open and idle ones."""
    kernels, own = posterior.readings.kernels, own_levels(posterior)
    narrow = narrow_gaps(search_range, kernels)
    found, denied, small = _found(posterior, policy, own, narrow)
    # Less than min_effect is sought only until a step is found that explains a claim as small.
    claimed = policy.claimed or 0.0
    explained = bool((found & ((posterior.change * claimed > 0) | (claimed == 0))).any())
    missed = np.where(found, 0.0, posterior.further if explained else posterior.relevant)
    missed[[*denied, *small]] = 0.0
    spread_out = not found.any() and float(missed.max()) < _LIKELY
    if spread_out and _own_ends_differ(own, policy):
        slope = slope_proof(posterior, policy, own, narrow)
        if slope is not None and slope.boots <= len(posterior.readings.values):
            return _sloping(posterior, policy, slope, denied)
    sloping = spread_out and ends_differ(posterior, policy)
    left = constants.LEFT_IN_SLOPE if sloping else policy.error
    places = tuple(_places(found))
    return StopState(
        found=places,
        open=likeliest(missed, constants.LEFT_OUT if explained else left),
        unproved=(
            *dict.fromkeys(one for g in places for one in lacking(posterior, policy, own, g)),
            *(ends_unproved(posterior, policy) if sloping else ()),
            *doubtful_ends(posterior, policy),
        ),
        denied=denied,
        left_out=min(float(missed.sum()), 1.0),
        sloping=sloping,
        images=tuple(
            one
            for gap in _places(narrow & (posterior.step > _LIKELY))
            if gap not in (*places, *denied, *small)
            for one in against_two_speeds(posterior, policy, gap)
        ),
    )


def narrow_gaps(search_range: SearchRange, kernels: IntArray) -> BoolArray:
    """Return in which gaps between measured kernels nothing is worth building, (m - 1,)."""
    first, last = np.searchsorted(search_range.able, (kernels[:-1] + 1, kernels[1:]))
    narrow: BoolArray = first == last
    if search_range.broken.any():
        for gap in np.flatnonzero(~narrow):
            old, new = (int(kernel) for kernel in kernels[gap : gap + 2])
            narrow[gap] = not len(search_range.worth_building(old, new))
    return narrow


def _sloping(
    posterior: AveragedPosterior, policy: SearchPolicy, slope: SlopeProof, denied: tuple[int, ...]
) -> StopState:
    """The state while a slope is proved, and once it is."""
    lacks = (Lacking(place=slope.place, anew=False),) if slope.boots > 0 else ()
    return StopState(
        found=(),
        open=(),
        unproved=(*ends_unproved(posterior, policy), *doubtful_ends(posterior, policy), *lacks),
        denied=denied,
        left_out=slope.hidden,
        sloping=True,
    )


def _own_ends_differ(own: Levels, policy: SearchPolicy) -> bool:
    """Whether the ends differ, by their own boots, by what is searched for."""
    change, error = change_between(own, 0, len(own[0]) - 1)
    return abs(change) - error >= log1p(policy.sought_effect)


def _found(
    posterior: AveragedPosterior, policy: SearchPolicy, own: Levels, narrow: BoolArray
) -> tuple[BoolArray, tuple[int, ...], tuple[int, ...]]:
    """Which gaps hold a sure step between neighbours, (m - 1,); those whose step is none.

    These are the gaps whose step the images of a side deny, and those that are part of a slope.
    """
    large = posterior.relevant > 0.5 * posterior.step
    likely = narrow & large & (posterior.step > _LIKELY)
    denied = tuple(g for g in _places(likely) if is_denied(posterior, policy, g))
    worth_asking = _places(narrow & (posterior.step > _WORTH_ASKING))
    small = tuple(g for g in worth_asking if is_part_of_slope(posterior, policy, own, g))
    likely[[*denied, *small]] = False
    # The error is for the whole answer: several steps share it.
    found = likely & (posterior.step >= 1 - policy.error / max(int(likely.sum()), 1))
    return found, denied, small


def _places(which: BoolArray) -> list[int]:
    return [int(place) for place in np.flatnonzero(which)]


def likeliest(missed: FloatArray, allowed: float) -> tuple[int, ...]:
    """Return the gaps, ascending, without which at most half of what is allowed is missed."""
    if missed.sum() <= allowed:
        return ()
    order = np.argsort(-missed, kind="stable")
    left_over = missed.sum() - np.cumsum(missed[order])
    needed = 1 + int(np.argmax(left_over <= allowed / 2))
    return tuple(sorted(order[:needed].tolist()))


def ends_are_equal(posterior: AveragedPosterior, policy: SearchPolicy) -> bool:
    """Whether it is proved that nothing relevant changed: no step inside, no difference outside."""
    boots = np.bincount(posterior.readings.place_of_value)
    return (
        (posterior.ends_differ <= policy.error or _ends_known(posterior, policy) is False)
        and float(posterior.sought.sum()) <= policy.error
        # One may be an outlier, and two must agree; of what is counted, one is confirmed.
        and min(boots[0], boots[-1]) >= policy.values_that_prove
    )


def ends_differ(posterior: AveragedPosterior, policy: SearchPolicy) -> bool:
    """Whether the ends differ by what is searched for, wherever that comes from."""
    known = _ends_known(posterior, policy)
    return posterior.ends_differ >= 1 - policy.error or known is True


def _ends_known(posterior: AveragedPosterior, policy: SearchPolicy) -> bool | None:
    """Whether they differ by it, once more boots would not tell any better; None before that."""
    level, variance = posterior.level.mean, posterior.level.variance
    sd = float(np.sqrt(variance[0] + variance[-1]))
    if sd > _KNOWN * policy.sought_effect:
        return None
    return bool(abs(level[-1] - level[0]) >= log1p(policy.sought_effect))


def suspected(
    search_range: SearchRange, posterior: AveragedPosterior, gaps: Iterable[int]
) -> tuple[Suspect, ...]:
    """Return the places of `gaps`, which may hold a step, the likeliest first."""
    gaps = sorted(set(gaps), key=lambda g: (-posterior.step[g], g))
    return tuple(
        Suspect(
            old=_old(search_range, posterior, g),
            new=int(posterior.readings.kernels[g + 1]),
            probability=min(float(posterior.step[g]), 1.0),
            effect=float(np.expm1(posterior.change[g])),
        )
        for g in gaps
    )


def conclude(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    state: StopState,
    policy: SearchPolicy,
    reason: str,
) -> Answer:
    """The answer as things stand."""
    own = own_levels(posterior)
    steps = tuple(_step(search_range, posterior, policy, own, g) for g in state.found)
    inside = _joined(
        (_old(search_range, posterior, g), int(posterior.readings.kernels[g + 1]))
        for g in sorted({*state.open, *state.denied})
    )
    slopes = () if inside else slopes_between(search_range, posterior, state.found, policy)
    return Answer(
        steps=steps,
        reproduced=bool(steps or inside or slopes),
        unresolved=_with_ends(search_range, posterior, inside),
        reason=reason,
        slopes=slopes,
        left_out=state.left_out,
        odd_images=odd_images(search_range, posterior),
    )


def not_reproduced(search_range: SearchRange, posterior: AveragedPosterior) -> Answer:
    """The answer when nothing that matters changed between the ends."""
    return Answer(
        steps=(),
        reproduced=False,
        unresolved=_with_ends(search_range, posterior, []),
        reason="the ends do not differ enough",
        odd_images=odd_images(search_range, posterior),
    )


def _step(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    policy: SearchPolicy,
    own: Levels,
    gap: int,
) -> Step:
    change, sd = step_size(posterior, own, gap, search_range.n, policy)
    return replace(
        step_in(search_range, posterior, gap),
        effect=float(np.expm1(change)),
        low=float(np.expm1(change - NORMAL_95 * sd)),
        high=float(np.expm1(change + NORMAL_95 * sd)),
        separated=is_separated(posterior, policy, gap),
        proved=not lacking(posterior, policy, own, gap),
    )


def step_in(search_range: SearchRange, posterior: AveragedPosterior, gap: int) -> Step:
    """Return the step in a gap as the posterior has it; it says nothing of images and proof."""
    change, sd = float(posterior.change[gap]), float(posterior.change_sd[gap])
    old, new = (int(kernel) for kernel in posterior.readings.kernels[gap : gap + 2])
    believed, untried = search_range.not_tried(old, new)
    return Step(
        old=search_range.last_with(old),
        new=new,
        effect=float(np.expm1(change)),
        low=float(np.expm1(change - NORMAL_95 * sd)),
        high=float(np.expm1(change + NORMAL_95 * sd)),
        probability=min(float(posterior.step[gap]), 1.0),
        believed=believed,
        untried=untried,
    )


def _old(search_range: SearchRange, posterior: AveragedPosterior, gap: int) -> int:
    """The last position with the kernel at the gap's old side."""
    return search_range.last_with(int(posterior.readings.kernels[gap]))


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
    search_range: SearchRange, posterior: AveragedPosterior, inside: list[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """The unresolved ranges, with what lies beyond ends that cannot be tested."""
    first, last = int(posterior.readings.kernels[0]), int(posterior.readings.kernels[-1])
    before = [(0, first)] if first > 0 else []
    after = (
        [(search_range.last_with(last), search_range.n)]
        if search_range.last_with(last) < search_range.n
        else []
    )
    return (*before, *inside, *after)
