"""Truths about a range, sampled from the posterior of today's evidence, or from the prior.

Sizes are those that were claimed, or equally likely on a logarithmic scale from min_effect to the
archive's largest common ones. Further steps are a Poisson process along the commits.

Outside the measured kernels, or with fewer than two of them, truths come from the prior: a claim is
true as often and as nearly as the search assumes, else sizes are equally likely on a logarithmic
scale from min_effect to the archive's largest common ones; further steps are a Poisson process
along the commits, and more likely beside a step. Complications (no step, another step, a far image,
another noise) are drawn one at a time, as strata with at least one draw each, weighted by their
probability (Neyman, J. Roy. Stat. Soc. 97, 1934). Draws are spread evenly (Roberts, "The
unreasonable effectiveness of quasirandom sequences", 2018), so that half a dozen stand for the
whole.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, auto
from itertools import count
from math import exp, log, log1p, log2

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior, infer
from buildbot_bench.core.search.model import Evidence, SearchPolicy
from buildbot_bench.core.search.noise_model import Hypothesis, SearchNoise, ladders, read
from buildbot_bench.core.search.posterior import Posterior
from buildbot_bench.core.search.search_range import FloatArray, SearchRange
from buildbot_bench.core.search.two_speeds import prior_share

# The largest step to reckon with, when nothing is known of it: the archive's largest common ones.
_LARGEST = 0.3
# netbenches: one change of 4 % in 8000 commits of a year; by size as above.
_USUAL, _USUAL_PER_COMMIT = 0.04, 1 / 8000
# Each draw takes so many numbers in [0, 1), spread evenly over the draws; further ones are random.
_EVEN = 3
_SEED = 20170110
_GOLDEN = (5**0.5 - 1) / 2


class Chance:
    """Numbers in (0, 1) for one draw: the first are spread evenly over all draws."""

    def __init__(self, number: int) -> None:
        ratio = 1.0
        for _ in range(30):
            ratio = (1 + ratio) ** (1 / (_EVEN + 1))
        even = (0.5 + number * ratio ** -(np.arange(_EVEN) + 1.0)) % 1.0
        self.odd = (0.5 + number * _GOLDEN) % 1.0
        self._even = iter(np.clip(even, 1e-9, 1 - 1e-9).tolist())
        self.rng = np.random.default_rng([_SEED, number])

    def share(self) -> float:
        """The next number."""
        return float(next(self._even, self.rng.random()))

    def among(self, weights: FloatArray) -> int:
        """An index with a probability as its weight."""
        total = np.cumsum(weights)
        return min(int(np.searchsorted(total, self.share() * total[-1])), len(weights) - 1)


def expected_steps(changes: int, policy: SearchPolicy) -> float:
    """How many steps from min_effect on a range of so many commits has, as the archive had."""
    least = min(policy.min_effect, _LARGEST / 2)
    per_commit = _USUAL_PER_COMMIT * (log(_LARGEST) - log(least)) / log(_LARGEST / _USUAL)
    return per_commit * max(changes, 0)


def further_share(changes: int, policy: SearchPolicy) -> float:
    """P(a further step anywhere in a range of so many commits that has one)."""
    return 1 - exp(-expected_steps(changes - 1, policy))


def size_of_step(policy: SearchPolicy, chance: Chance, claimed: float | None = None) -> float:
    """The change of a step, in ln."""
    if claimed:
        return log1p(claimed) * (1 + constants.CLAIM_SPREAD * float(ndtri(chance.share())))
    least = log(log1p(policy.min_effect))
    most = max(log(log1p(_LARGEST)), least)
    size = exp(least + chance.share() * (most - least))
    return size if chance.rng.random() < 1 / 2 else -size


class Commits:
    """The levels of a range while steps are put into it."""

    def __init__(self, search_range: SearchRange) -> None:
        self._cdf = search_range.prior_cdf
        self._changes = search_range.changes
        self.level = np.zeros(search_range.n + 1)

    def draw(self, chance: Chance, old: int = 0, new: int | None = None) -> int:
        """A commit in (old, new], by its prior."""
        last = len(self._cdf) - 1 if new is None else new
        low, high = float(self._cdf[old]), float(self._cdf[last])
        if high <= low:
            return last
        at = int(np.searchsorted(self._cdf, low + chance.share() * (high - low)))
        return min(max(at, old + 1), last)

    def draw_outside(self, chance: Chance, old: int, new: int) -> int:
        """A commit at or before `old`, or behind `new`."""
        low, high = float(self._cdf[old]), float(self._cdf[new])
        at = chance.share() * (low + 1 - high)
        place = at if at < low else at - low + high
        return min(max(int(np.searchsorted(self._cdf, place)), 1), len(self._cdf) - 1)

    def step(self, commit: int, change: float) -> None:
        """A change of level at a commit."""
        self.level[commit:] += change

    def hide(self, old: int, new: int, policy: SearchPolicy, chance: Chance) -> None:
        """Another step between two kernels, whose levels stay: the one that is there makes up."""
        at = old + 1 + int(np.argmax(np.abs(np.diff(self.level[old : new + 1]))))
        far = further_share(min(new - old, self._changes), policy)
        is_near = chance.rng.random() * (constants.CLUSTERED_STEP + far) >= far
        other = self._other(at, old, new, chance, is_near=is_near)
        size = size_of_step(policy, chance)
        self.step(other, size)
        self.step(at, -size)

    def more(self, after: int, policy: SearchPolicy, chance: Chance, *, is_near: bool) -> None:
        """Another step beside one; or anywhere, as many as are to be expected if there are some."""
        expected = expected_steps(self._changes - 1, policy)
        steps = 1 if is_near else round(expected / (1 - exp(-expected)))
        for _ in range(steps):
            other = self._other(after, 0, len(self._cdf) - 1, chance, is_near=is_near)
            self.step(other, size_of_step(policy, chance))

    def _other(self, after: int, old: int, new: int, chance: Chance, *, is_near: bool) -> int:
        """A commit in (old, new] other than `after`; there are two at least."""
        near = after + 1 if after < new else after - 1
        if is_near:
            return near
        low, high = float(self._cdf[old]), float(self._cdf[new])
        at = int(np.searchsorted(self._cdf, low + chance.rng.random() * (high - low)))
        at = min(max(at, old + 1), new)
        return near if at == after else at


_ENOUGH = 2  # measured kernels: the fewest that say something of a change
_LEAST_SHARE = 0.05  # of a kind; chosen for speed: rarer ones are not drawn
# One draw of so many hides a step beside those that were seen.
_HIDDEN_ONE_IN = 4
# Images that a search builds beside those that halve the range.
_MORE_IMAGES = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """Levels in ln(value), (n + 1,), and the noise about them.

    `odd_image`: the how manyth image to be built lies far from its code's level, if one does.
    Truths of one `kind` are alike in what the search meets. They are drawn by strata; `share` is
    the probability of the `stratum`, on average over its draws.
    """

    level: FloatArray
    noise: SearchNoise
    odd_image: int | None = None
    kind: int = 0
    stratum: int = 0
    share: float = 1.0


class _Kind(IntEnum):
    """What a draw has beside one step and the likeliest noise."""

    NO_STEP = auto()
    NOTHING = auto()
    NOISE = auto()
    ODD_IMAGE = auto()
    NEIGHBOUR = auto()
    FURTHER = auto()


def truths(search_range: SearchRange, evidence: Evidence, policy: SearchPolicy) -> Iterator[Truth]:
    """Draw after draw, without an end; the same ones for the same arguments."""
    measured = {int(search_range.kernel[m.position]) for m in evidence.measurements}
    positive = [m.value for m in evidence.measurements if m.value > 0]
    unit = log(float(np.median(positive))) if positive else 0.0
    if len(measured) < _ENOUGH:
        yield from _from_prior(search_range, policy, unit)
    posterior = infer(search_range, read(search_range, evidence.measurements), policy)
    for number in count():
        chance = Chance(number)
        hides = number % _HIDDEN_ONE_IN == _HIDDEN_ONE_IN - 2
        truth = _from_posterior(search_range, posterior, policy, chance, unit, hides=hides)
        if truth.share > 0:
            yield truth


def _from_prior(search_range: SearchRange, policy: SearchPolicy, unit: float) -> Iterator[Truth]:
    """Each kind in turn, the likeliest first; then those that have been drawn least for it."""
    hypotheses = [one for ladder in ladders(policy, prior_share(policy)) for one in ladder]
    weights = np.array([one.weight for one in hypotheses])
    best = int(weights.argmax())
    others = np.where(np.arange(len(weights)) == best, 0.0, weights)
    shares = _shares(search_range, policy, hypotheses[best])
    drawn = dict.fromkeys(shares, 0)
    for number in count():
        # Seats of a parliament are given out like that (Webster; Sainte-Lague).
        kind = max(shares, key=lambda k: (not drawn[k], shares[k] / (2 * drawn[k] + 1)))
        chance = Chance(number)
        drawn[kind] += 1
        chosen = chance.among(others) if kind is _Kind.NOISE else best
        odd = int(chance.rng.integers(_images(search_range)))
        yield Truth(
            level=unit + _level(search_range, policy, chance, kind),
            noise=hypotheses[chosen].noise,
            odd_image=odd if kind is _Kind.ODD_IMAGE else None,
            kind=kind,
            stratum=kind,
            share=shares[kind],
        )


def _level(
    search_range: SearchRange, policy: SearchPolicy, chance: Chance, kind: _Kind
) -> FloatArray:
    commits = Commits(search_range)
    if kind is not _Kind.NO_STEP:
        at = commits.draw(chance)
        commits.step(at, size_of_step(policy, chance, claimed=policy.claimed))
        if kind in (_Kind.NEIGHBOUR, _Kind.FURTHER):
            commits.more(at, policy, chance, is_near=kind is _Kind.NEIGHBOUR)
    return commits.level


def _images(search_range: SearchRange) -> int:
    """How many images a search builds, about."""
    return _MORE_IMAGES + round(log2(max(search_range.changes, 1)))


def _shares(
    search_range: SearchRange, policy: SearchPolicy, best: Hypothesis
) -> dict[_Kind, float]:
    """The probability of each kind that may be; `best` is the likeliest noise."""
    left, shares = constants.CLAIM_IS_TRUE, {_Kind.NO_STEP: 1 - constants.CLAIM_IS_TRUE}
    for kind, share in (
        (_Kind.FURTHER, further_share(search_range.changes, policy)),
        (_Kind.NEIGHBOUR, constants.CLUSTERED_STEP if search_range.changes > 1 else 0.0),
        (_Kind.ODD_IMAGE, 1 - (1 - best.noise.far) ** _images(search_range)),
        (_Kind.NOISE, 1 - best.weight),
        (_Kind.NOTHING, 1.0),
    ):
        shares[kind] = left * share
        left -= shares[kind]
    return {kind: share for kind, share in shares.items() if share > _LEAST_SHARE}


def _from_posterior(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    policy: SearchPolicy,
    chance: Chance,
    unit: float,
    *,
    hides: bool,
) -> Truth:
    """What was seen; or, where it `hides` one, another step beside one that was seen."""
    kernels = posterior.readings.kernels
    under = posterior.models[chance.among(np.array([one.weight for one in posterior.models]))]
    commits = Commits(search_range)
    changes = _changes(under, chance)
    gaps = [int(posterior.fold.gaps[folded]) for folded in changes]
    places = [(int(kernels[gap]), int(kernels[gap + 1])) for gap in gaps]
    for (old, new), change in zip(places, changes.values(), strict=True):
        commits.step(commits.draw(chance, old, new), change)
    hidden = np.array([_hidden(old, new, search_range, policy) for old, new in places])
    one = 1 - float(np.prod(1 - hidden))
    if hides and one > 0:
        commits.hide(*places[chance.among(hidden)], policy, chance)
    inside = search_range.prior_cdf[kernels[-1]] - search_range.prior_cdf[kernels[0]]
    if not changes and chance.share() < constants.CLAIM_IS_TRUE * (1 - float(inside)):
        outside = commits.draw_outside(chance, int(kernels[0]), int(kernels[-1]))
        commits.step(outside, size_of_step(policy, chance, claimed=policy.claimed))
    start = unit + float(under.levels().mean[0]) - float(commits.level[kernels[0]])
    images = max(_images(search_range) - len(posterior.readings.image), _MORE_IMAGES)
    is_odd = chance.odd > (1 - under.noise.far) ** images
    return Truth(
        level=start + commits.level,
        noise=under.noise,
        odd_image=int(chance.rng.integers(images)) if is_odd else None,
        kind=2 * int(np.count_nonzero(np.diff(commits.level))) + is_odd,
        stratum=int(hides),
        share=one if hides else 1 - one,
    )


def _hidden(old: int, new: int, search_range: SearchRange, policy: SearchPolicy) -> float:
    """P(a step between two kernels has another one between them)."""
    changes = min(new - old, search_range.changes)
    if changes <= 1:
        return 0.0
    return 1 - (1 - constants.CLUSTERED_STEP) * (1 - further_share(changes, policy))


def _changes(under: Posterior, chance: Chance) -> dict[int, float]:
    """Gap → change in ln, of one partition and its levels; stretches follow each other."""
    stretch, levels = under.partition.stretch, under.stretches
    m = len(stretch)
    begin, before, changes = 0, None, {}
    while begin < m:
        end = begin + chance.among(stretch[begin, begin:] + 1e-300)
        sd = float(np.sqrt(max(levels.variance[begin, end], 0.0)))
        level = float(levels.mean[begin, end]) + sd * float(chance.rng.normal())
        if before is not None:
            changes[begin - 1] = level - before
        begin, before = end + 1, level
    return changes
