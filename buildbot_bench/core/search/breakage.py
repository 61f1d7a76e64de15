"""The belief about which untried revisions of a range are testable, from those that were tried.

Along the range, testable and untestable kernels are the two states of a Markov chain. Between two
kernels that were tried the chain forgets the rest (L. R. Rabiner, "A tutorial on hidden Markov
models", 1989: forward and backward messages are exact where states are seen). Its rates are learnt:
a grid of shares and lengths, each weighted by how well it tells what was tried.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
