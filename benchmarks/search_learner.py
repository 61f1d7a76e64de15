"""A search that lacks only the culprit and the two levels: the cost of learning these.

It assumes one step, of about the size claimed, and boots with one mode and normal noise of a known
spread; it confirms nothing. Given the culprit, the two levels are normal in closed form. Each boot
is the one with most information on its revision's side, as in the search: the search's further cost
is that of its fewer assumptions.
"""

import numpy as np

from benchmarks.search_bounds import ERROR
from buildbot_bench.core.model import constants

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Where no place tells this much (nats), it is the level of an end that is not known well enough.
_TELLS_NOTHING = 0.01
_TINY = 1e-9

Side = tuple[np.ndarray, np.ndarray, np.ndarray]


def learner(
    n: int, d: float, rng: np.random.Generator, known: tuple[int, int], error: float = ERROR
) -> tuple[int, bool]:
    """Iterations beyond the `known` ones of the ends (one of each where there are none), and right.

    Values are in run noises; the step is one of d.
    """
    culprit = int(rng.integers(1, n + 1))
    boots, sums = np.zeros(n + 1), np.zeros(n + 1)
    count = 0 if any(known) else 2

    def boot(position: int) -> None:
        boots[position] += 1
        sums[position] += rng.normal(d if position >= culprit else 0.0)

    for position, times in ((0, max(known[0], 1)), (n, max(known[1], 1))):
        for _ in range(times):
            boot(position)
    while True:
        posterior, old, new = _posterior(boots, sums, d)
        if posterior.max() >= 1 - error:
            return count, 1 + int(posterior.argmax()) == culprit
        tells = _information(posterior, old, new)
        ends = 0 if boots[0] <= boots[n] else n
        boot(int(tells.argmax()) if tells.max() >= _TELLS_NOTHING else ends)
        count += 1


def _posterior(boots: np.ndarray, sums: np.ndarray, d: float) -> tuple[np.ndarray, ...]:
    """Of the culprits 1..n, and for each the (mean, variance) of a boot on either side, (2, n)."""
    left, left_sum = np.cumsum(boots)[:-1], np.cumsum(sums)[:-1]
    claim = 1 / (constants.CLAIM_SPREAD * d) ** 2
    a, c = left + claim, boots.sum() - left + claim
    pull, push = left_sum - claim * d, sums.sum() - left_sum + claim * d
    determinant = a * c - claim**2
    old, new = (c * pull + claim * push) / determinant, (a * push + claim * pull) / determinant
    log = 0.5 * (pull * old + push * new) - 0.5 * np.log(determinant)
    posterior = np.exp(log - log.max())
    return (
        posterior / posterior.sum(),
        np.stack([old, 1 + c / determinant]),
        np.stack([new, 1 + a / determinant]),
    )


def _information(posterior: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Nats that a boot of each position 0..n tells of the side it is on."""
    behind = _side(posterior, new)
    before = tuple(part[::-1] for part in _side(posterior[::-1], old[:, ::-1]))
    told = np.zeros(len(posterior) + 1)
    for weight, mean, variance in (behind, before):
        y = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
        mixed = _density(y, behind) + _density(y, before)
        own = _density(y, (np.ones_like(weight), mean, variance))
        told += weight * (np.log(own / mixed) @ _WEIGHTS)
    return told


def _side(posterior: np.ndarray, boot: np.ndarray) -> Side:
    """How likely each position is on a side, with mean and variance of its boot if it is."""
    mean, variance = boot
    weight, first, second = (
        np.concatenate([[0.0], np.cumsum(posterior * part)])
        for part in (np.ones_like(mean), mean, variance + mean**2)
    )
    there = weight > _TINY
    weight = np.where(there, weight, _TINY)
    mean = np.where(there, first / weight, 0.0)
    return weight, mean, np.where(there, second / weight - mean**2, 1.0)


def _density(y: np.ndarray, side: tuple[np.ndarray, ...]) -> np.ndarray:
    weight, mean, variance = (part[:, None] for part in side)
    density: np.ndarray = (
        weight * np.exp(-0.5 * (y - mean) ** 2 / variance) / np.sqrt(variance) + 1e-300
    )
    return density
