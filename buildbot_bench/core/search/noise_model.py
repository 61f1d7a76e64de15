"""What a posterior is made of: readings of measurements, and noise hypotheses with priors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import wider_build
from buildbot_bench.core.search.model import Measurement, SearchPolicy
from buildbot_bench.core.search.search_range import FloatArray, IntArray, SearchRange

# A run that passed nothing has no logarithm; it is taken as this share of the median.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """N values of I images of m measured kernels, sorted by kernel, image and time.

    `kernels` (m,) are positions; `values` (N,) are ln(value / median); `first_of_image` (I,)
    indexes values, `image` (I,) is the image's number, `place` (I,) indexes kernels,
    `boots_of_image` (I,) is how many values each has, `level_of_image` (I,) the median of them;
    `place_of_value` (N,) indexes kernels.
    """

    kernels: IntArray
    values: FloatArray
    at_s: FloatArray
    first_of_image: IntArray
    image: IntArray
    place: IntArray
    boots_of_image: IntArray
    level_of_image: FloatArray
    place_of_value: IntArray

    def revalued(self, values: FloatArray) -> Readings:
        """The same boots with other values (N,)."""
        level = _medians(values, self.first_of_image, self.boots_of_image)
        return replace(self, values=values, level_of_image=level)

    def next_image(self, place: int) -> int:
        """The first number that no image of this kernel has."""
        return int(self.image[self.place == place].max(initial=-1)) + 1


def read(search_range: SearchRange, measurements: tuple[Measurement, ...]) -> Readings:
    """Sort and group what was measured."""
    for m in measurements:
        if not (np.isfinite(m.value) and m.value >= 0):
            raise UsageError(
                f"position {m.position} measured {m.value}: neither a number nor positive",
                hint="a failed run is not a measurement; leave it out",
            )
    rows = sorted(
        (int(search_range.kernel[m.position]), m.image, m.at_s, m.value) for m in measurements
    )
    kernel, image, at_s, value = (np.array(column) for column in zip(*rows, strict=True))
    new_image = np.ones(len(rows), dtype=bool)
    new_image[1:] = (np.diff(kernel) != 0) | (np.diff(image) != 0)
    first = np.flatnonzero(new_image)
    kernels, place = np.unique(kernel[first], return_inverse=True)
    positive = value[value > 0]
    unit = float(np.median(positive)) if len(positive) else 1.0
    values = np.log(np.maximum(value / unit, _LEAST_SHARE))
    boots = np.diff(np.append(first, len(values)))
    return Readings(
        kernels=kernels,
        values=values,
        at_s=at_s.astype(float),
        first_of_image=first,
        image=image[first],
        place=place,
        boots_of_image=boots,
        level_of_image=_medians(values, first, boots),
        place_of_value=np.repeat(place, boots),
    )


def _medians(values: FloatArray, first: IntArray, count: IntArray) -> FloatArray:
    """The median of each run of `count` (I,) values (N,) that begins at `first` (I,)."""
    run = np.repeat(np.arange(len(first)), count)
    ordered = values[np.lexsort((values, run))]
    return np.asarray(0.5 * (ordered[first + (count - 1) // 2] + ordered[first + count // 2]))


_RUN_SPREAD = 1.1  # deviation of ln(run noise): a normal whose 90th percentile is near that
_RUN_FACTOR = 1.7  # from one run noise that is thought of to the next
_RUN_STEPS = range(-7, 7)  # of that factor, about the median

# What is told comes from a sample and may be out of date: (factor, weight) around it.
_RUN_AROUND = ((0.85, 0.1), (1.0, 0.77), (1.2, 0.09), (1.7, 0.03), (3.0, 0.01))
# On a machine that others use what is told comes from the few runs of the search itself. They are
# read once, as evidence; before it times of programs there vary by 2 %, nine in ten by .3 to 12 %.
_SHARED_NOISE, _SHARED_FACTOR = 0.02, 1.35
_SHARED_STEPS = range(-12, 10)
# Build noise when nothing is told: none, or as on the archive's good, middling and small machines.
_BUILD_UNKNOWN = ((0.0, 0.8), (0.003, 0.14), (0.01, 0.04), (0.03, 0.02))
# No noise at all would divide by zero; metrics that repeat exactly get this much.
_LEAST_NOISE = 1e-6

# The share of boots in the rarer mode, and how far it lies from the other: (run noises, weight).
# More than machines have near ones, for what was measured there before seldom comes with the range.
# That a culprit's boots may all be of a second mode, the search's end sees to (search/stop.py).
_MODES = ((2.5, 0.015), (3.5, 0.015), (5.0, 0.002), (8.0, 0.001))  # (run noises, weight)
# Two modes taken for one look about this much wider than each is.
_MODES_WIDEN = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchNoise:
    """Standard deviations in ln(value): of boots of one image, of images of unchanged code.

    A share `mode_share` of the boots reads `mode_offset` more; a share `far` of the images lies far
    from their code's level (core.search.far_images), and a share `other_share` of them reads
    `other_offset` more (core.search.two_speeds).
    """

    run: float
    build: float
    mode_share: float = 0.0
    mode_offset: float = 0.0
    far: float = 0.0
    other_share: float = 0.0
    other_offset: float = 0.0

    @property
    def total(self) -> float:
        """The spread of single boots of different images."""
        return float(np.hypot(self.run, self.build))


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    """A noise and its prior weight."""

    noise: SearchNoise
    weight: float


def ladders(policy: SearchPolicy, far: float = 0.0) -> list[list[Hypothesis]]:
    """For each possible build noise, hypotheses with ascending run noise; `far` of all images."""
    return [
        [
            Hypothesis(
                noise=SearchNoise(run=run, build=build, far=far), weight=run_weight * build_weight
            )
            for run, run_weight in _runs(policy)
        ]
        for build, build_weight in _builds(policy)
    ]


def _builds(policy: SearchPolicy) -> tuple[tuple[float, float], ...]:
    """Build noises with their weights: what is given may be too little, as few builds taught it."""
    if not policy.layout:
        return ((policy.sigma_build or 0.0, 1.0),)
    if policy.sigma_build is None:
        return _BUILD_UNKNOWN
    told = policy.sigma_build
    wider = wider_build(told, policy.sigma_run or constants.RUN_NOISE)
    return ((told, 1 - constants.WIDER_WEIGHT), (wider, constants.WIDER_WEIGHT))


def narrow(policy: SearchPolicy, best: Hypothesis) -> Hypothesis:
    """The noise without what modes or a drift add to it, given the best that has neither.

    Where the noise was given, they may be why a wider one fits best: then it is the one given.
    """
    if policy.sigma_run is None or policy.spells:
        return best
    told = replace(best.noise, run=max(policy.sigma_run, _LEAST_NOISE))
    found = (h for ladder in ladders(policy, told.far) for h in ladder if h.noise == told)
    return next(found)


def bimodal(policy: SearchPolicy, best: Hypothesis) -> list[Hypothesis]:
    """Hypotheses with two modes, given the best that has one."""
    alone = narrow(policy, best)
    run = alone.noise.run / (_MODES_WIDEN if alone is best else 1.0)
    one = replace(alone.noise, run=run)
    return [
        Hypothesis(
            noise=replace(one, mode_share=constants.MODE_SHARE, mode_offset=sign * offset * run),
            weight=weight * alone.weight,
        )
        for offset, weight in _MODES
        for sign in (-1, 1)
    ]


def _runs(policy: SearchPolicy) -> list[tuple[float, float]]:
    if policy.spells:
        steps, factor, median = np.array(_SHARED_STEPS), _SHARED_FACTOR, _SHARED_NOISE
    elif policy.sigma_run is not None:
        told = max(policy.sigma_run, _LEAST_NOISE)
        return [(told * factor, weight) for factor, weight in _RUN_AROUND]
    else:
        steps, factor, median = np.array(_RUN_STEPS), _RUN_FACTOR, constants.RUN_NOISE
    sigmas = np.hypot(median * factor**steps, policy.rounding)
    weights = np.exp(-0.5 * (steps * np.log(factor) / _RUN_SPREAD) ** 2)
    return list(zip(sigmas.tolist(), (weights / weights.sum()).tolist(), strict=True))
