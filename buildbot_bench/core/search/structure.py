"""The structure that the noise has, and why a search is undecided.

Two sides with n values each, of standard deviation s, differ by d with the standard error
s·sqrt(2/n). To find d in nine of ten cases with a false positive rate of `error` takes

    n = 2 ((z(1 - error/2) + z(.9)) s/d)²

values a side (Cohen, Statistical Power Analysis, 2.4, for known s).
"""

from math import ceil, expm1, log1p, sqrt

import numpy as np
from scipy.special import ndtri, stdtr

from buildbot_bench.core.figures import percent, size
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import SearchPolicy
from buildbot_bench.core.search.noise_model import Readings
from buildbot_bench.core.search.posterior import Posterior

# Of Student's t: how rarely first boots of the same level look cold. Chosen: it is read at every
# look, and a wrong remedy costs a person's time.
_COLD = 0.0005
_FEWEST = 4  # images with a first boot and others; of fewer one that went wrong decides
_BELIEVED = 0.5  # a probability: rather this structure than none


def structure(posterior: AveragedPosterior) -> str:
    """Return a sentence that says what structure the noise has and what helps; '' for none."""
    if cold := _of_cold_starts(posterior.readings):
        return cold
    drifting = [one for one in posterior.models if one.drift]
    if sum(one.weight for one in drifting) > _BELIEVED:
        return _of_drift(max(drifting, key=lambda one: one.weight))
    of_modes = [one for one in posterior.models if one.noise.mode_share]
    if sum(one.weight for one in of_modes) > _BELIEVED:
        return _of_modes(max(of_modes, key=lambda one: one.weight))
    return ""


def _of_cold_starts(readings: Readings) -> str:
    """Say how far first boots of images lie off their further ones; '' if they do not, surely.

    Each image is a pair, so that neither levels nor layout matter; a paired Student's t over them.
    """
    several = readings.boots_of_image > 1
    first = readings.first_of_image[several]
    timed = readings.at_s[first] < readings.at_s[first + 1]  # else nobody knows which was first
    first, boots = first[timed], readings.boots_of_image[several][timed]
    if len(first) < _FEWEST:
        return ""
    values = readings.values
    further = [np.median(values[k + 1 : k + n]) for k, n in zip(first, boots, strict=True)]
    off = values[first] - np.array(further)
    error = max(float(off.std(ddof=1)) / sqrt(len(off)), float(np.finfo(float).tiny))
    if float(stdtr(len(off) - 1, -abs(off.mean()) / error)) > _COLD:
        return ""
    return (
        f"the first run of a build lies {percent(expm1(float(np.median(off))))} off its further "
        "ones; a run before it that does not count (a warm-up) would take fewer"
    )


def _of_drift(likeliest: Posterior) -> str:
    drift = likeliest.drift
    if drift is None:
        return ""
    moves = size(expm1(drift.sd))
    if drift.runs:
        return (
            f"neighbouring runs are alike: spells of about {drift.runs:.0f} runs move them by "
            f"{moves}, beside {size(drift.noise.run)} from one to the next; with nothing else at "
            "work on the machine, fewer runs would do"
        )
    return (
        f"the lab drifts by about {moves} within hours, so that boots are compared with those of "
        "the same time; a longer warm-up and an even temperature would take fewer"
    )


def _of_modes(likeliest: Posterior) -> str:
    noise = likeliest.noise
    return (
        f"boots have two speeds, {size(abs(expm1(noise.mode_offset)))} apart; a fixed clock rate "
        "and fixed processors for interrupts would take fewer boots"
    )


_POWER = 0.9
_ROUND = 10  # a number of values is told in tens


def why_exhausted(posterior: AveragedPosterior, policy: SearchPolicy) -> str:
    """The reason to answer when nothing is left that could tell more."""
    weights = np.array([one.weight for one in posterior.models])
    sigmas = np.array([one.noise.total for one in posterior.models])
    sigma = float(weights @ sigmas / weights.sum())
    needed = _values_of_a_side(sigma, policy)
    boots = np.bincount(posterior.readings.place_of_value)
    if needed <= min(boots[0], boots[-1]):
        return "no measurement is left"
    many = _ROUND * ceil(needed / _ROUND)
    seen = structure(posterior)
    return (
        f"values differ by {100 * sigma:.2g} % from one to the next. A change of "
        f"{100 * policy.min_effect:.2g} % takes about {many:,} values of each side"
    ) + (f". {seen[0].upper()}{seen[1:]}" if seen else "")


def _values_of_a_side(sigma: float, policy: SearchPolicy) -> int:
    quantiles = float(ndtri(1 - policy.error / 2) + ndtri(_POWER))
    return ceil(2 * (quantiles * sigma / log1p(policy.min_effect)) ** 2)
