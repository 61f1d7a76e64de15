"""The positions of a range: its kernels, the belief which are testable, and each commit's prior.

Along the range, testable and untestable kernels are the two states of a Markov chain. Between two
kernels that were tried the chain forgets the rest (L. R. Rabiner, "A tutorial on hidden Markov
models", 1989: forward and backward messages are exact where states are seen). Its rates are learnt:
a grid of shares and lengths, each weighted by how well it tells what was tried.

Positions whose kernel is identical to the one before are one *kernel*, named by the first of them;
so are untestable ones between two identical kernels, as no level is left there.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.model import constants
from buildbot_bench.core.search.model import Evidence, SearchPolicy, Stretches

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# How often a testable commit is followed by an untestable one, and how many such stand together on
# average. Chosen to span what is met: one breakage in thousands of commits to every other commit,
# alone or half a release long; a point more between two of them moves no row of the benchmarks.
_BREAKS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6)
_LENGTHS = (1.0, 2.0, 4.0, 8.0, 32.0, 128.0, 512.0, 2048.0, 8192.0)
# Prior weight of a rate: its inverse to this power. A branch that breaks often is rarer than one
# that breaks once. Chosen on the rows `dev`: with 0 a stretch costs three times the builds.
_RARER = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakageChain:
    """The chain after what was `tried`: positions, ascending; `failed` tells which are untestable.

    `order` numbers the kernels of a range at each of its positions. `share`, `length` and `weight`
    are the grid of rates with its posterior.
    """

    order: IntArray
    tried: IntArray
    failed: BoolArray
    share: FloatArray
    length: FloatArray
    weight: FloatArray

    def testable(self, positions: IntArray) -> FloatArray:
        """Return the probability that each untried position is testable."""
        after = np.searchsorted(self.tried, positions)
        last = len(self.tried) - 1
        left, right = np.maximum(after - 1, 0), np.minimum(after, last)
        here = self.order[positions]
        share, fade = self.share[:, None], -1 / self.length[:, None]
        # The chain runs backwards with the same rates, so both neighbours give a message alike.
        odds = np.ones((len(self.share), len(positions)))
        both = ((left, after > 0), (right, after <= last))
        for side, is_there in both:
            near = np.exp(fade * np.abs(here - self.order[self.tried[side]]))
            broken = np.where(self.failed[side], share + (1 - share) * near, share * (1 - near))
            odds = np.where(is_there, odds * (1 - broken) / np.maximum(broken, 1e-300), odds)
        twice = (after > 0) & (after <= last)
        prior = (1 - share) / share
        odds = np.where(twice, odds / prior, odds)
        probability: FloatArray = self.weight @ (odds / (1 + odds))
        return probability

    def contiguous(self, old: int, new: int, error: float) -> list[tuple[int, int]]:
        """Return neighbours in (old, new) that failed, with nothing testable between any of them.

        Each is a pair of tried positions. The probability that all of them are contiguous failures
        is 1 - `error` or more; the surest pairs are taken first.
        """
        first, last = np.searchsorted(self.tried, (old + 1, new))
        inside, failed = self.tried[first:last], self.failed[first:last]
        pairs = np.flatnonzero(failed[:-1] & failed[1:])
        apart = np.diff(self.order[inside])[pairs, None]
        fade = np.exp(-1 / self.length)
        stays = (1 - (1 - self.share) * (1 - fade)) ** apart
        returns = self.share + (1 - self.share) * fade**apart
        alone = stays / returns
        surest = np.argsort(-(alone @ self.weight), kind="stable")
        together = np.cumprod(alone[surest], axis=0) @ self.weight
        sure = pairs[surest[together >= 1 - error]]
        return [(int(inside[at]), int(inside[at + 1])) for at in np.sort(sure)]


def learn_breakage(order: IntArray, tried: IntArray, failed: BoolArray) -> BreakageChain:
    """Weigh the grid of rates by what was tried.

    The first position, mostly an end of the range, was not chosen by the search: it tells of the
    rates by what follows alone.
    """
    breaks, mends = (axis.ravel() for axis in np.meshgrid(_BREAKS, 1 / np.array(_LENGTHS)))
    possible = breaks + mends <= 1
    breaks, mends = breaks[possible], mends[possible]
    share, length = breaks / (breaks + mends), -1 / np.log1p(-np.minimum(breaks + mends, 1 - 1e-9))
    apart = np.diff(order[tried])[:, None]
    near = np.exp(-apart / length)
    stays_or_comes = np.where(failed[:-1, None], share + (1 - share) * near, share * (1 - near))
    likely = np.where(failed[1:, None], stays_or_comes, 1 - stays_or_comes)
    log_weight = np.log(np.maximum(likely, 1e-300)).sum(axis=0) - _RARER * np.log(breaks)
    weight = np.exp(log_weight - log_weight.max())
    return BreakageChain(
        order=order,
        tried=tried,
        failed=failed,
        share=share,
        length=length,
        weight=weight / weight.sum(),
    )


# No commit is beyond suspicion, whatever the weights say: a share of an average commit's weight.
_LEAST_WEIGHT = 0.01
# Boots of one kernel that are always allowed, and all that are while a noise is not known.
_FEW_BOOTS = 5
_ENDS = 2  # kernels: the old and the new one


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchRange:
    """The range 0..n; all arrays but `able` are indexed by position and have n + 1 entries.

    `able` are the kernels that can be measured, ascending. `kernel` is the first position with the
    same kernel. `ask` is the position to name when that kernel is to be measured, -1 where that is
    not possible. `built` tells whether it has an image. `broken` marks the kernels that are known
    to be untestable, `chain` is what these say of others: none while nothing failed, and believed
    where it is wrong with probability `error` or less. `prior_cdf` is the prior probability that
    the culprit, if there is one, is this commit or an earlier one. `images`: a kernel that was
    measured can be built anew; if not, `most_boots` of its image leave little but that one's luck.
    """

    n: int
    kernel: IntArray
    ask: IntArray
    built: BoolArray
    broken: BoolArray
    prior_cdf: FloatArray
    able: IntArray
    images: bool = True
    most_boots: float = math.inf
    chain: BreakageChain | None = None
    error: float = 0.01

    @property
    def changes(self) -> int:
        """How many commits change the kernel."""
        return int(np.count_nonzero(np.diff(self.kernel)))

    def candidates(self, old: int, new: int) -> IntArray:
        """The kernels strictly between two others that can be measured."""
        first, last = np.searchsorted(self.able, (old + 1, new))
        return self.able[first:last]

    def worth_building(self, old: int, new: int) -> IntArray:
        """The untried candidates between two kernels; none after MOST_FAILING failures."""
        if len(self.broken_between(old, new)) >= constants.MOST_FAILING:
            return self.able[:0]
        return self.untried(old, new)

    def untried(self, old: int, new: int) -> IntArray:
        """The candidates between two kernels, less those that are believed untestable."""
        inside = self.candidates(old, new)
        if self.chain is None:
            return inside
        for first, last in self.chain.contiguous(old, new, self.error):
            inside = inside[(inside < first) | (inside > last)]
        return inside

    def not_tried(self, old: int, new: int) -> tuple[Stretches, Stretches]:
        """What was not tried between two kernels: the believed untestable, and the untried."""
        untried = self.untried(old, new)
        believed = np.setdiff1d(self.candidates(old, new), untried)
        of = [np.flatnonzero(np.isin(self.kernel, kernels)) for kernels in (believed, untried)]
        return _stretches(of[0]), _stretches(of[1])

    def broken_between(self, old: int, new: int) -> IntArray:
        """The kernels strictly between two others that are known to be untestable."""
        between: IntArray = old + 1 + np.flatnonzero(self.broken[old + 1 : new])
        return between

    def testable(self, kernels: IntArray) -> FloatArray:
        """The probability that kernels which were not tried are testable; 1 while none failed."""
        return np.ones(len(kernels)) if self.chain is None else self.chain.testable(kernels)

    def last_with(self, kernel: int) -> int:
        """The last position that has this kernel."""
        return int(np.searchsorted(self.kernel, kernel, side="right")) - 1

    def ends(self) -> tuple[int, int] | None:
        """The outermost kernels that can be measured; None when there are not two."""
        return None if len(self.able) < _ENDS else (int(self.able[0]), int(self.able[-1]))


def build_range(n: int, evidence: Evidence, policy: SearchPolicy) -> SearchRange:
    """Describe the range 0..n; raises UsageError for evidence that lies outside it."""
    _check(n, evidence, policy)
    positions = np.arange(n + 1)
    between = _between(n, evidence)
    same = _mask(n, evidence.same_as_previous | evidence.same_across) | between
    same[0] = False
    kernel = np.maximum.accumulate(np.where(same, 0, positions))
    untestable = _mask(n, evidence.untestable)
    broken = _any_of_kernel(kernel, untestable & ~between)
    measured = np.zeros(n + 1, dtype=bool)
    measured[kernel[[m.position for m in evidence.measurements]]] = True
    built = _mask(n, evidence.built)
    ask = _whom_to_ask(kernel, untestable, built, broken & ~measured)
    return SearchRange(
        n=n,
        kernel=kernel,
        ask=ask,
        built=_any_of_kernel(kernel, built) | measured,
        broken=broken & ~measured,
        prior_cdf=_prior_cdf(n, same, policy.weights),
        able=np.flatnonzero((ask >= 0) & (kernel == positions)),
        images=policy.images,
        most_boots=_most_boots(policy.sigma_run, policy.sigma_build),
        chain=_chain(kernel, broken & ~measured, _any_of_kernel(kernel, built) | measured),
        error=policy.error,
    )


def _chain(kernel: IntArray, broken: BoolArray, testable: BoolArray) -> BreakageChain | None:
    """What the kernels that failed say of others; None while none did."""
    if not broken.any():
        return None
    tried = np.flatnonzero(broken | testable)
    return learn_breakage(np.cumsum(np.diff(kernel, prepend=-1) > 0), tried, broken[tried])


def _stretches(positions: IntArray) -> Stretches:
    """Ascending positions as the first and the last of each run."""
    parts = np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1)
    return tuple((int(part[0]), int(part[-1])) for part in parts if len(part))


def _most_boots(sigma_run: float | None, sigma_build: float | None) -> float:
    """So many that the mean of boots is known to a third of what images differ by."""
    if sigma_run is None or sigma_build is None:
        return _FEW_BOOTS
    return max(_FEW_BOOTS, (3 * sigma_run / sigma_build) ** 2) if sigma_build > 0 else math.inf


def _between(n: int, evidence: Evidence) -> BoolArray:
    """The untestable positions that lie between two identical kernels."""
    mask = np.zeros(n + 1, dtype=bool)
    for position in evidence.same_across:
        before = position - 1
        while before > 0 and before in evidence.untestable:
            mask[before] = True
            before -= 1
    return mask


def _whom_to_ask(
    kernel: IntArray, untestable: BoolArray, built: BoolArray, broken: BoolArray
) -> IntArray:
    """For each kernel a testable position that has it, a built one if possible; else -1.

    When one of several identical kernels is untestable, so are the others, unless one was measured.
    """
    ask = np.full(len(kernel), -1)
    for wanted in (~untestable, ~untestable & built):
        # Assigned from the last to the first: the first position of a kernel is what remains.
        usable = np.flatnonzero(wanted & ~broken[kernel])[::-1]
        ask[kernel[usable]] = usable
    return ask


def _any_of_kernel(kernel: IntArray, flags: BoolArray) -> BoolArray:
    """At each kernel's first position: whether any position with that kernel has the flag."""
    result = np.zeros_like(flags)
    result[kernel[flags]] = True
    return result


def _prior_cdf(n: int, same: BoolArray, weights: tuple[float, ...] | None) -> FloatArray:
    """Cumulated prior of the culprit; a commit that changes no byte of the kernel has none."""
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    mean = given.mean() if n and given.sum() > 0 else 1.0
    each = np.where(same[1:], 0.0, np.maximum(given, _LEAST_WEIGHT * mean))
    total = each.sum()
    return np.concatenate([[0.0], np.cumsum(each) / total if total > 0 else each])


def _mask(n: int, positions: frozenset[int]) -> BoolArray:
    mask = np.zeros(n + 1, dtype=bool)
    mask[sorted(positions)] = True
    return mask


def _check(n: int, evidence: Evidence, policy: SearchPolicy) -> None:
    if n < 0:
        raise UsageError(f"a range has no {n} commits", hint="give the old end before the new one")
    places = {m.position for m in evidence.measurements}.union(
        evidence.untestable, evidence.built, evidence.same_as_previous, evidence.same_across
    )
    outside = sorted(p for p in places if not 0 <= p <= n)
    if outside:
        raise UsageError(
            f"position {outside[0]} is outside of the range 0..{n}",
            hint="drop what does not belong to the range before planning",
        )
    weights = policy.weights
    if weights is None:
        return
    if len(weights) != n or not np.isfinite(weights).all() or min(weights, default=0.0) < 0:
        raise UsageError(
            f"weights must be {n} finite numbers ≥ 0, one for each commit; there are {len(weights)}"
        )
