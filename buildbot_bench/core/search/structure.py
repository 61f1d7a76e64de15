"""The structure that the noise has: spells of slow runs, a lab that drifts, two speeds of boots."""

from math import expm1

from buildbot_bench.core.figures import size
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.posterior import Posterior

_BELIEVED = 0.5  # a probability: rather this structure than none


def structure(posterior: AveragedPosterior) -> str:
    """Return a sentence that says what structure the noise has and what helps; '' for none."""
    drifting = [one for one in posterior.models if one.drift]
    if sum(one.weight for one in drifting) > _BELIEVED:
        return _of_drift(max(drifting, key=lambda one: one.weight))
    of_modes = [one for one in posterior.models if one.noise.mode_share]
    if sum(one.weight for one in of_modes) > _BELIEVED:
        return _of_modes(max(of_modes, key=lambda one: one.weight))
    return ""


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
