"""What a search will cost, told before it starts, by a formula; it searches nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log, log1p, log2

import numpy as np
from scipy.special import ndtri

from buildbot_bench.core.search.design import mixture_information
from buildbot_bench.core.search.ground import FloatArray, Ground, survey
from buildbot_bench.core.search.model import Costs, Evidence, Forecast, SearchPolicy
from buildbot_bench.core.search.noise_model import RUN_MEDIAN
from buildbot_bench.core.search.partition import FURTHER_STEP, STEP_IN_COMPANY

# Learning two unknown levels costs about this many iterations at one standard deviation, and one
# is spent to confirm the pair; both were read off simulated searches (benchmarks/search.py).
_LEARN_LEVELS = 45.0
_CONFIRM = 1.0  # an iteration
# Nine of ten searches for a large step stay within this factor of the median, for a small one
# within that; half of the difference is reached at a step of 2.5 standard deviations.
_LEAST_SPREAD, _MOST_SPREAD = 1.1, 1.45
_SMALL = 2.5  # deviations of the noise
# The largest step to reckon with, when nothing is known of it: the archive's largest common ones.
_LARGEST = 0.3
# Eight sizes, each the middle of an eighth of ln(largest / least).
_SIZES = (np.arange(8) + 0.5) / 8
_MOST_STEPS = 4  # in a range; chosen: as many as the archive's iflib range has
# Normal deviates: nine searches, of which each stands for a ninth.
_LUCK = ndtri((np.arange(9) + 0.5) / 9)
_NINE_OF_TEN = float(ndtri(0.9))  # a normal deviate
# Each doubling of the builders saves so much of the time for builds; half of the boots overlap.
_OF_MORE_BUILDERS = 0.3
_SEEN_OF_BOOTS = 0.5  # the half that is told above


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """A way in which the search may go, of probability `weight`."""

    weight: float
    iterations: float
    images: float


def forecast(
    n: int, costs: Costs, policy: SearchPolicy, evidence: Evidence | None = None
) -> Forecast:
    """Images, iterations and hours of a search that finds something, as median and 90 %.

    How large the step is tells the claim, or the ends when both were measured; else anything from
    min_effect to 30 % is equally likely on a logarithmic scale. Further steps are as likely as the
    search itself thinks. For each case, iterations are both ends, log2(n) / C(d) for the place of
    each step (Burnashev and Zigangirov 1974), the levels and the confirmations; d is the step in
    standard deviations of a boot of a new image. What was measured already is not taken off.
    """
    ground = survey(n, evidence or Evidence(), policy)
    run = RUN_MEDIAN if policy.sigma_run is None else policy.sigma_run
    build = policy.sigma_build or 0.0
    courses = [
        course
        for effect in _effects(ground, policy, evidence or Evidence())
        for course in _courses(ground, effect, max(run, 1e-6), build)
    ]
    hours = [_hours(costs, course.images, course.iterations) for course in courses]
    weight = np.array([course.weight for course in courses])
    return Forecast(
        images=_quantiles([course.images for course in courses], weight),
        iterations=_quantiles([course.iterations for course in courses], weight),
        hours=_quantiles(hours, weight),
    )


def _effects(ground: Ground, policy: SearchPolicy, evidence: Evidence) -> list[float]:
    """Equally likely sizes of a step, in ln."""
    if policy.claimed:
        return [abs(log1p(policy.claimed))]
    least = log1p(policy.min_effect)
    seen = _between_ends(ground, evidence)
    if seen is not None:
        return [max(seen, least)]
    largest = max(log1p(_LARGEST), least)
    return [float(size) for size in least * (largest / least) ** _SIZES]


def _between_ends(ground: Ground, evidence: Evidence) -> float | None:
    """How far apart, in ln, the medians of what the two ends measured are."""
    ends = (0, int(ground.kernel[-1]))
    values = [
        [m.value for m in evidence.measurements if ground.kernel[m.position] == end and m.value > 0]
        for end in ends
    ]
    if not all(values):
        return None
    old, new = (float(np.median(value)) for value in values)
    return abs(log(new / old))


def _courses(ground: Ground, effect: float, run: float, build: float) -> list[Course]:
    """One step or several of that size, by more luck or less."""
    noise = hypot(run, build)
    d = effect / noise
    bits = log2(max(ground.changes, 1))
    one = bits / _capacity(d, noise) + _CONFIRM
    spread = _LEAST_SPREAD + (_MOST_SPREAD - _LEAST_SPREAD) * min(1.0, (_SMALL / d) ** 2)
    another = FURTHER_STEP + STEP_IN_COMPANY
    courses: list[Course] = []
    for steps in range(1, _MOST_STEPS + 1):
        levels = _LEARN_LEVELS / d**2 * (1 + steps) / 2
        iterations = 2 + steps * one + levels
        # Where images differ by themselves, most iterations want one of their own.
        halvings = _images(ground, steps * bits)
        # Where images differ by themselves, most iterations want one of their own.
        rebuilt = iterations * build / noise
        courses += [
            Course(
                weight=(1 - another) * another ** (steps - 1),
                iterations=iterations * luck,
                images=max(halvings * luck**0.5, rebuilt * luck),
            )
            for luck in spread ** (_LUCK / _NINE_OF_TEN)
        ]
    return courses


def _images(ground: Ground, bits: float) -> float:
    """Builds: a halving each, but those that kernels already built answer; and missing ends."""
    built = int(ground.built.sum())
    missing = sum(not ground.built[end] for end in (0, int(ground.kernel[-1])))
    return max(bits - log2(max(built - 1, 1)), 0.0) + missing


def _hours(costs: Costs, images: float, iterations: float) -> float:
    builders = 1 + _OF_MORE_BUILDERS * log2(max(costs.builders, 1))
    build_s = images * costs.build_s / builders
    lab_s = iterations * (costs.boot_s + costs.run_s) / max(costs.testbeds, 1)
    return (max(build_s, lab_s) + _SEEN_OF_BOOTS * min(build_s, lab_s)) / 3600


def _quantiles(values: list[float], weight: FloatArray) -> tuple[float, float]:
    """The weighted median and 90 % quantile."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weight[order]) / weight.sum()
    median, most = (values[int(order[np.searchsorted(below, q - 1e-9)])] for q in (0.5, 0.9))
    return float(median), float(most)


def _capacity(d: float, noise: float) -> float:
    """Bits that one value tells of two equally likely levels, d standard deviations apart."""
    even, sd = np.array([0.5, 0.5]), np.array([noise, noise])
    return max(mixture_information(even, np.array([0.0, d * noise]), sd) / log(2), 1e-3)
