"""Steps drawn from the prior of a range: places, sizes and number.

Sizes are those that were claimed, or equally likely on a logarithmic scale from min_effect to the
archive's largest common ones. Further steps are a Poisson process along the commits.
"""

from math import exp, log, log1p

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.search_range import FloatArray, SearchRange

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
