"""Learns the noise of a testbed and workload from its samples; it judges no change."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from buildbot_bench.core.noise.model import ARCHIVE, COUNTED, KNOWN_DF, MIN_SIGMA, Noise, Prior
from buildbot_bench.core.noise.modes import modes
from buildbot_bench.core.noise.spread import (
    Floats,
    Spread,
    bounded_run_spread,
    build_spread,
    run_spread,
)
from buildbot_bench.core.sample import NoiseClass, Sample

SATURATED_SIGMA = 0.0005  # the archive's line-rate series repeat to 0.00-0.03 %
_SATURATED_DF = 2  # chosen: three boots of one image that repeat are no accident, two may be
_LEFT = 2  # boots: the fewest that have a spread
# Degrees of freedom; below these the answer says that noise was assumed. Chosen: as many as the
# prior has by itself (Prior.tail_df), and somewhat fewer of builds, which are dear.
_ENOUGH_RUN_DF = 8
_ENOUGH_BUILD_DF = 6
_MISSED = 0.05  # how often counts scatter more than their upper limit says
_ENOUGH_COUNTED_DF = 2  # counts scatter little, or not at all: three boots tell which


def learn(history: Sequence[Sample], *, prior: Prior = ARCHIVE) -> Noise:
    """Learn the noise from samples of one testbed, workload and epoch, in any order.

    The more of them the better. Level changes among them do little harm (see `spread`). Never
    raises: without history the prior is returned, and `assumed` says so. Values that are not
    positive are passed over. Where one of them is counted, its prior is COUNTED.
    """
    ordered = sorted(history, key=lambda sample: (sample.position, sample.image))
    boots = [logs for sample in ordered if (logs := _unselected(sample)).size]
    if any(sample.metric.noise is NoiseClass.EXACT for sample in history):
        return _of_counts(run_spread(boots, bimodal=False))
    images = [logs for sample in ordered if (logs := _logs(sample)).size]
    bimodal = modes(images)
    run = bounded_run_spread(run_spread(boots, bimodal=bimodal is not None), images)
    sigma_run = _blend(run, prior.sigma_run, prior.weight)
    build = build_spread(images, sigma_run)
    return Noise(
        sigma_run=sigma_run,
        sigma_build=_blend(build, prior.sigma_build, prior.weight),
        df_run=run.df + prior.tail_df,
        df_build=build.df + prior.tail_df,
        bimodal=bimodal,
        saturated=run.df >= _SATURATED_DF and run.sigma < SATURATED_SIGMA,
        assumed=tuple(_assumptions(run, build, prior)),
    )


def _of_counts(run: Spread) -> Noise:
    """Of a counted metric: its boots tell the run noise, and images of one code count alike.

    What neighbouring kernels differ by is what their commits did, be it ever so little: hundreds
    of run noises, which are to tell the places of steps apart. So the noise's upper limit is taken
    for known.
    """
    df = run.df + COUNTED.tail_df
    upper = math.sqrt(df / float(stats.chi2.ppf(_MISSED, df)))
    return Noise(
        sigma_run=upper * _blend(run, COUNTED.sigma_run, COUNTED.weight),
        sigma_build=COUNTED.sigma_build,
        df_run=KNOWN_DF,
        df_build=KNOWN_DF,
        assumed=(_assumed_of_boots(COUNTED),) if run.df < _ENOUGH_COUNTED_DF else (),
    )


def auto_iterations(noise: Noise, *, fresh: int = 5) -> int:
    """How many boots a new kernel gets under `iterations: auto`.

    One, when history tells what noise to expect; else as many as a report's t-test needs, so
    that the first kernels teach the noise while they are measured.
    """
    return fresh if noise.assumed or noise.bimodal is not None else 1


def _logs(sample: Sample) -> Floats:
    return np.log([value for value in sample.values if value > 0 and math.isfinite(value)])


def _unselected(sample: Sample) -> Floats:
    """The boots without the first, which may be why there are more of them, if two are left."""
    logs, times = _logs(sample), [i.at_s for i in sample.iterations if i.value is not None]
    if logs.size < _LEFT + 1 or len(times) != logs.size or min(times) == max(times):
        return logs
    return np.delete(logs, int(np.argmin(times)))


def _blend(estimate: Spread, assumed: float, weight: float) -> float:
    """The geometric mean of estimate and prior, weighted by how much stands behind each."""
    ratio = max(estimate.sigma, MIN_SIGMA) / assumed
    return float(assumed * ratio ** (estimate.df / (estimate.df + weight)))


def _assumptions(run: Spread, build: Spread, prior: Prior) -> list[str]:
    texts = []
    if run.df < _ENOUGH_RUN_DF:
        texts.append(_assumed_of_boots(prior))
    if build.df < _ENOUGH_BUILD_DF:
        texts.append(f"images of unchanged code vary by about {prior.sigma_build:.1%}")
    return texts


def _assumed_of_boots(prior: Prior) -> str:
    return f"boots of one image vary by about {100 * prior.sigma_run:.2g} %"
