"""What the noise may be: hypotheses with their prior weights; it sees no data.

Each says how far boots of one image scatter, how far images of unchanged code scatter, and whether
boots draw one of two speeds; all share the belief that a few runs are plainly wrong. The evidence
weighs them against each other, so that a wrong guess of the noise costs a few iterations and not
the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from buildbot_bench.core.search.model import SearchPolicy

# Share of runs that say nothing of the level, and over how wide a span (in ln) they fall.
OUTLIER_SHARE = 0.03
OUTLIER_SPAN = 0.5  # in ln

# The netbenches archive: run noise has its median at 0.8 % and its 90th percentile at 3.8 %.
RUN_MEDIAN = 0.008
_RUN_SPREAD = 1.1  # deviation of ln(run noise): a normal whose 90th percentile is near that
_RUN_FACTOR = 1.7  # from one run noise that is thought of to the next
_RUN_STEPS = range(-7, 7)  # of that factor, about the median

# What is told comes from a sample and may be out of date: (factor, weight) around it.
_RUN_AROUND = ((0.85, 0.1), (1.0, 0.8), (1.2, 0.088), (1.7, 0.01), (3.0, 0.002))
# Build noise when nothing is told: none, or as on the archive's good, middling and small machines.
_BUILD_UNKNOWN = ((0.0, 0.8), (0.003, 0.14), (0.01, 0.04), (0.03, 0.02))
# No noise at all would divide by zero; metrics that repeat exactly get this much.
_LEAST_NOISE = 1e-6

# The share of boots in the rarer mode, and how far it lies from the other: (run noises, weight).
# More than machines have near ones, for what was measured there before seldom comes with the range.
# That a culprit's boots may all be of a second mode, the search's end sees to (search/stop.py).
_MODE_SHARE = 0.25
_MODES = ((2.5, 0.015), (3.5, 0.015), (5.0, 0.002), (8.0, 0.001))  # (run noises, weight)
# Whether the lab drifts in the hours of a search, and how far, in run noises.
DRIFT_WEIGHT = 0.1
DRIFT_SD = 2.0  # run noises
# Two modes taken for one look about this much wider than each is.
_MODES_WIDEN = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class LogNoise:
    """Standard deviations in ln(value): of boots of one image, of images of unchanged code.

    A share `mode_share` of the boots reads `mode_offset` more.
    """

    run: float
    build: float
    mode_share: float = 0.0
    mode_offset: float = 0.0

    @property
    def total(self) -> float:
        """The spread of single boots of different images."""
        return float(np.hypot(self.run, self.build))


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    """A noise and its prior weight."""

    noise: LogNoise
    weight: float


def ladders(policy: SearchPolicy) -> list[list[Hypothesis]]:
    """For each possible build noise, hypotheses with ascending run noise."""
    builds = _BUILD_UNKNOWN if policy.sigma_build is None else ((policy.sigma_build, 1.0),)
    return [
        [
            Hypothesis(noise=LogNoise(run=run, build=build), weight=run_weight * build_weight)
            for run, run_weight in _runs(policy)
        ]
        for build, build_weight in builds
    ]


def narrow(policy: SearchPolicy, best: Hypothesis) -> Hypothesis:
    """The noise without what modes or a drift add to it, given the best that has neither.

    Where the noise was told, they may be why a wider one fits best: then it is the one told.
    """
    if policy.sigma_run is None:
        return best
    told = replace(best.noise, run=max(policy.sigma_run, _LEAST_NOISE))
    return next(h for ladder in ladders(policy) for h in ladder if h.noise == told)


def bimodal(policy: SearchPolicy, best: Hypothesis) -> list[Hypothesis]:
    """Hypotheses with two modes, given the best that has one."""
    alone = narrow(policy, best)
    run = alone.noise.run / (_MODES_WIDEN if policy.sigma_run is None else 1.0)
    one = replace(alone.noise, run=run)
    return [
        Hypothesis(
            noise=replace(one, mode_share=_MODE_SHARE, mode_offset=sign * offset * run),
            weight=weight * alone.weight,
        )
        for offset, weight in _MODES
        for sign in (-1, 1)
    ]


def _runs(policy: SearchPolicy) -> list[tuple[float, float]]:
    if policy.sigma_run is not None:
        told = max(policy.sigma_run, _LEAST_NOISE)
        return [(told * factor, weight) for factor, weight in _RUN_AROUND]
    steps = np.array(_RUN_STEPS)
    sigmas = RUN_MEDIAN * _RUN_FACTOR**steps
    weights = np.exp(-0.5 * (steps * np.log(_RUN_FACTOR) / _RUN_SPREAD) ** 2)
    return list(zip(sigmas.tolist(), (weights / weights.sum()).tolist(), strict=True))
