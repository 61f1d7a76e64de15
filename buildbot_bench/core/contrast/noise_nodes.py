"""Quadrature nodes over the noise of a comparison, with their prior weights.

The variances have scaled inverse chi-squared priors (A. Gelman et al., *Bayesian Data Analysis*,
3rd ed. 2013, 2.6), the share of far images has the Beta prior of `image_luck`, by Gauss-Jacobi
quadrature. An assumed build noise is wider (`wider_build`) with probability WIDER_WEIGHT.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from buildbot_bench.core.model import constants
from buildbot_bench.core.model.image_luck import Floats
from buildbot_bench.core.model.learn import is_build_noise_learnt
from buildbot_bench.core.model.noise import MIN_SIGMA, Noise, wider_build

_RUN_NODES, _BUILD_NODES, _UNKNOWN_BUILD_NODES, _SHARE_NODES = 5, 9, 17, 3
TAIL = 0.0005
"""Of a variance's prior, what the nodes leave out on either side."""
_LEAST_BUILD = 0.1  # run noises: build noise below it cannot be told from none
_MANY_IMAGES = 500  # that tell the share of far ones: it is taken for known (the rule overflows)
_SURELY_KNOWN = 1e5  # degrees of freedom from which on a variance is taken for known


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseNodes:
    """K pairs of run noise (of the best guess) and build noise, P shares, and weights (K, P)."""

    run: Floats
    build: Floats
    share: Floats
    weight: Floats


def noise_nodes(noise: Noise, df_run: float, *, layout: bool) -> NoiseNodes:
    """The nodes, with run noise known to `df_run`; without `layout` rounding alone."""
    run = _scales(1.0, df_run, _RUN_NODES if layout else _BUILD_NODES)
    build = _builds(noise) if layout else ((noise.rounding, 1.0),)
    share = _shares(noise) if layout else ((0.0, 1.0),)
    scales = np.array([(r, b, x * y) for r, x in run for b, y in build]).T
    shares = np.array(share).T
    return NoiseNodes(
        run=scales[0],
        build=scales[1],
        share=shares[0],
        weight=scales[2][:, None] * shares[1],
    )


def _scales(sigma: float, df: float, number: int) -> tuple[tuple[float, float], ...]:
    """Standard deviations with their weights where df·sigma²/s² is chi-squared."""
    if df > _SURELY_KNOWN:
        return ((sigma, 1.0),)
    low, high = _ends(df)
    logs = np.linspace(math.log(low), math.log(high), number)
    return _normalised(sigma * np.exp(logs), _log_density(logs, df))


def _ends(df: float) -> tuple[float, float]:
    """Between which factors of sigma a standard deviation is looked for."""
    low, high = np.sqrt(df / special.chdtri(df, [TAIL, 1 - TAIL])).tolist()
    return low, high


def _builds(noise: Noise) -> tuple[tuple[float, float], ...]:
    sigma, df = max(noise.sigma_build, _LEAST_BUILD * noise.sigma_run, MIN_SIGMA), noise.df_build
    if is_build_noise_learnt(noise):
        return _scales(sigma, df, _BUILD_NODES)
    low, high = _ends(df)
    factor = wider_build(sigma, noise.sigma_run) / sigma
    logs = np.linspace(math.log(low), math.log(high * factor), _UNKNOWN_BUILD_NODES)
    wider = _log_density(logs - math.log(factor), df)
    told = np.log(1 - constants.WIDER_WEIGHT) + _log_density(logs, df)
    return _normalised(
        sigma * np.exp(logs), np.logaddexp(told, math.log(constants.WIDER_WEIGHT) + wider)
    )


def _log_density(logs: Floats, df: float) -> Floats:
    """Of ln(s/sigma), up to a constant."""
    return np.asarray(-df * logs - df / 2 * np.exp(-2 * logs))


def _normalised(sigmas: Floats, logs: Floats) -> tuple[tuple[float, float], ...]:
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return tuple(zip(sigmas.tolist(), weights.tolist(), strict=True))


def _shares(noise: Noise) -> tuple[tuple[float, float], ...]:
    """Shares of far images whose first moments are the Beta's."""
    a = noise.far_share * noise.far_weight
    if a <= 0 or noise.far_weight > _MANY_IMAGES:
        return ((noise.far_share, 1.0),)
    b = noise.far_weight - a
    at, weights = special.roots_sh_jacobi(_SHARE_NODES, a + b - 1, a)
    return tuple(zip(at.tolist(), (weights / weights.sum()).tolist(), strict=True))
