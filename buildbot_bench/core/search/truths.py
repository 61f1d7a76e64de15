"""What may be true of a range, drawn from the posterior of today's evidence; it plans nothing.

Where fewer than two kernels are measured, or beyond the outermost that are, the prior tells: a
claim is true as often and as nearly as the search takes it to be, else sizes are equally likely on
a logarithmic scale, from min_effect to the archive's largest common ones. Draws are spread evenly
(Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018), and what goes wrong in a
search goes wrong one at a time (another step, a far image, a noise other than the one told), each
as often as it does alone: so half a dozen draws stand for the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from math import log, log1p, log2

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.far_images import prior_share
from buildbot_bench.core.search.inference import AveragedPosterior, infer
from buildbot_bench.core.search.model import Evidence, SearchPolicy
from buildbot_bench.core.search.noise_model import SearchNoise, ladders
from buildbot_bench.core.search.posterior import Posterior
from buildbot_bench.core.search.readings import read
from buildbot_bench.core.search.search_range import FloatArray, SearchRange

# The largest step to reckon with, when nothing is known of it: the archive's largest common ones.
_LARGEST = 0.3
_MOST_STEPS = 4  # in a range; chosen: as many as the archive's iflib range has
_ENOUGH = 2  # measured kernels: the fewest that say something of a change
# Each draw takes so many numbers in [0, 1), spread evenly over the draws; further ones are random.
_EVEN = 3
_GOLDEN = (5**0.5 - 1) / 2
# Images that a search builds beside those that halve the range.
_MORE_IMAGES = 4
_SEED = 20170110


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """Levels in ln(value), (n + 1,), and the noise about them.

    `odd_image`: the how manyth image to be built lies far from its code's level, if one does.
    """

    level: FloatArray
    noise: SearchNoise
    odd_image: int | None = None


class _Kind(Enum):
    """What a draw has beside one step and the likeliest noise."""

    NO_STEP = auto()
    NOTHING = auto()
    NOISE = auto()
    ODD_IMAGE = auto()
    MORE_STEPS = auto()


class _Chance:
    """Numbers in (0, 1) for one draw: the first are spread evenly over all draws."""

    def __init__(self, number: int) -> None:
        ratio = 1.0
        for _ in range(30):
            ratio = (1 + ratio) ** (1 / (_EVEN + 1))
        even = (0.5 + number * ratio ** -(np.arange(_EVEN) + 1.0)) % 1.0
        self.kind = (0.5 + number * _GOLDEN) % 1.0
        self._even = iter(np.clip(even, 1e-9, 1 - 1e-9).tolist())
        self.rng = np.random.default_rng([_SEED, number])

    def share(self) -> float:
        """The next number."""
        return float(next(self._even, self.rng.random()))

    def among(self, weights: FloatArray) -> int:
        """An index with a probability as its weight."""
        total = np.cumsum(weights)
        return min(int(np.searchsorted(total, self.share() * total[-1])), len(weights) - 1)


def truths(search_range: SearchRange, evidence: Evidence, policy: SearchPolicy) -> Iterator[Truth]:
    """Draw after draw, without an end; the same ones for the same arguments."""
    measured = {int(search_range.kernel[m.position]) for m in evidence.measurements}
    posterior = None
    if len(measured) >= _ENOUGH:
        posterior = infer(search_range, read(search_range, evidence.measurements), policy)
    positive = [m.value for m in evidence.measurements if m.value > 0]
    unit = log(float(np.median(positive))) if positive else 0.0
    number = 0
    while True:
        chance = _Chance(number)
        if posterior is None:
            yield _from_prior(search_range, policy, chance, unit)
        else:
            yield _from_posterior(search_range, posterior, policy, chance, unit)
        number += 1


def _from_prior(
    search_range: SearchRange, policy: SearchPolicy, chance: _Chance, unit: float
) -> Truth:
    commits = _Commits(search_range)
    hypotheses = [one for ladder in ladders(policy, prior_share(policy)) for one in ladder]
    weights = np.array([one.weight for one in hypotheses])
    best = int(weights.argmax())
    images = _images(search_range)
    kind = _kind(chance.kind, float(weights[best]), hypotheses[best].noise.far, images)
    chosen = best
    if kind is _Kind.NOISE:
        weights[best] = 0.0
        chosen = chance.among(weights)
    if kind is not _Kind.NO_STEP:
        at = commits.draw(chance)
        commits.step(at, _size(policy, chance, claimed=policy.claimed))
        if kind is _Kind.MORE_STEPS:
            commits.more(at, policy, chance)
    return Truth(
        level=unit + commits.level,
        noise=hypotheses[chosen].noise,
        odd_image=int(chance.rng.integers(images)) if kind is _Kind.ODD_IMAGE else None,
    )


def _images(search_range: SearchRange) -> int:
    """How many images a search builds, about."""
    return _MORE_IMAGES + round(log2(max(search_range.changes, 1)))


def _kind(share: float, best: float, far: float, images: int) -> _Kind:
    """The kind at a share of all; `best` is the weight of the likeliest noise."""
    if share < 1 - constants.CLAIM_IS_TRUE:
        return _Kind.NO_STEP
    left = (1 - share) / constants.CLAIM_IS_TRUE
    for kind, weight in (
        (_Kind.MORE_STEPS, constants.CLUSTERED_STEP + constants.FURTHER_STEP),
        (_Kind.ODD_IMAGE, 1 - (1 - far) ** images),
        (_Kind.NOISE, 1 - best),
    ):
        if left < weight:
            return kind
        left = (left - weight) / (1 - weight)
    return _Kind.NOTHING


def _from_posterior(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    policy: SearchPolicy,
    chance: _Chance,
    unit: float,
) -> Truth:
    kernels = posterior.readings.kernels
    under = posterior.models[chance.among(np.array([one.weight for one in posterior.models]))]
    commits = _Commits(search_range)
    changes = _changes(under, chance)
    for folded_gap, change in changes.items():
        gap = int(posterior.fold.gaps[folded_gap])
        commits.step(commits.draw(chance, int(kernels[gap]), int(kernels[gap + 1])), change)
    inside = search_range.prior_cdf[kernels[-1]] - search_range.prior_cdf[kernels[0]]
    if not changes and chance.share() < constants.CLAIM_IS_TRUE * (1 - float(inside)):
        outside = commits.draw_outside(chance, int(kernels[0]), int(kernels[-1]))
        commits.step(outside, _size(policy, chance, claimed=policy.claimed))
    start = unit + float(under.levels().mean[0]) - float(commits.level[kernels[0]])
    images = max(_images(search_range) - len(posterior.readings.image), _MORE_IMAGES)
    is_odd = chance.kind > (1 - under.noise.far) ** images
    return Truth(
        level=start + commits.level,
        noise=under.noise,
        odd_image=int(chance.rng.integers(images)) if is_odd else None,
    )


def _changes(under: Posterior, chance: _Chance) -> dict[int, float]:
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


def _size(policy: SearchPolicy, chance: _Chance, claimed: float | None = None) -> float:
    """The change of a step, in ln."""
    if claimed:
        return log1p(claimed) * (1 + constants.CLAIM_SPREAD * float(ndtri(chance.share())))
    least = log1p(policy.min_effect)
    most = max(log1p(_LARGEST), least)
    size = float(least * (most / least) ** chance.share())
    return size if chance.rng.random() < 1 / 2 else -size


class _Commits:
    """The levels of a range while steps are put into it."""

    def __init__(self, search_range: SearchRange) -> None:
        self._cdf = search_range.prior_cdf
        self.level = np.zeros(search_range.n + 1)

    def draw(self, chance: _Chance, old: int = 0, new: int | None = None) -> int:
        """A commit in (old, new], by its prior."""
        last = len(self._cdf) - 1 if new is None else new
        low, high = float(self._cdf[old]), float(self._cdf[last])
        if high <= low:
            return last
        at = int(np.searchsorted(self._cdf, low + chance.share() * (high - low)))
        return min(max(at, old + 1), last)

    def draw_outside(self, chance: _Chance, old: int, new: int) -> int:
        """A commit at or before `old`, or behind `new`."""
        low, high = float(self._cdf[old]), float(self._cdf[new])
        at = chance.share() * (low + 1 - high)
        place = at if at < low else at - low + high
        return min(max(int(np.searchsorted(self._cdf, place)), 1), len(self._cdf) - 1)

    def step(self, commit: int, change: float) -> None:
        """A change of level at a commit."""
        self.level[commit:] += change

    def more(self, after: int, policy: SearchPolicy, chance: _Chance) -> None:
        """A further step or several, as often as the search thinks: after one, or anywhere."""
        both = constants.CLUSTERED_STEP + constants.FURTHER_STEP
        for _ in range(_MOST_STEPS - 1):
            near = min(after + 1, len(self._cdf) - 1)
            is_near = chance.rng.random() < constants.CLUSTERED_STEP / both
            after = near if is_near else self.draw(chance)
            self.step(after, _size(policy, chance))
            if chance.rng.random() > both:
                return
