"""The information in bits per second of lab time that each series of an incident offers.

A boot of a commit says on which side of the step the commit lies: one bit over a Gaussian channel
whose two inputs are d = effect / noise apart, of capacity (T. M. Cover and J. A. Thomas, *Elements
of Information Theory*, 2nd ed. 2006, ch. 9, for two inputs)

    C(d) = 1 - E[log2(1 + exp(-d·(d/2 + Z)))],  Z ~ N(0, 1),

0 for d = 0, .5 bits for d = 2.1. The score is C(d) divided by the time of a boot and a run; builds
are shared by all series.
"""

from __future__ import annotations

import math

import numpy as np

# Chosen: C(d) comes out to five digits at any d.
_NODES = 64
# Chosen: what the noise of a series is guessed wrong by; a search that moves leaves boots behind.
_CLEARLY_CHEAPER = 1.25
# Bits beyond log2 n: an error of 1 % and the levels themselves; `make bench` has 14 boots for
# n = 1600, d = 10, where log2 n is 10.6.
_BITS_OF_LEVELS = 4.0


def bits_per_boot(effect: float, sigma_run: float, sigma_build: float = 0.0) -> float:
    """What one boot of one image says of the side of a step, in bits, 0 to 1.

    `effect` is a fraction of the level, of either sign; the sigmas are standard deviations
    between boots of one image and between images of one code, fractions as well.
    """
    noise = math.hypot(sigma_run, sigma_build)
    step = abs(math.log1p(max(effect, -0.999)))
    if noise == 0:
        return 1.0 if step else 0.0
    d = min(step / noise, 40.0)  # beyond that it is one bit to the last digit
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    lost = np.logaddexp2(0.0, -d * (d / 2 + nodes) / math.log(2))
    return float(np.clip(1 - np.sum(weights * lost) / np.sum(weights), 0.0, 1.0))


def information_per_second(
    effect: float, *, sigma_run: float, sigma_build: float, boot_s: float, run_s: float
) -> float:
    """The score of a series, in bits per second of its testbed."""
    return bits_per_boot(effect, sigma_run, sigma_build) / max(boot_s + run_s, 1e-9)


def bits_to_find(commits: int) -> float:
    """What a search of so many commits has to learn, in bits."""
    return math.log2(max(commits, 1)) + _BITS_OF_LEVELS


def is_worth_moving(*, here: float, there: float, spent_s: float, commits: int) -> bool:
    """Whether a search that ran for `spent_s` ends clearly sooner when it begins anew elsewhere.

    `here` and `there` are scores in bits per second.
    """
    if there <= 0:
        return False
    bits = bits_to_find(commits)
    left_s = max(bits / here - spent_s, 0.0) if here > 0 else math.inf
    return left_s > _CLEARLY_CHEAPER * bits / there
