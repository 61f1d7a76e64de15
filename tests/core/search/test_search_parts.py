"""The parts of the search against slow and plain ways to the same numbers."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from buildbot_bench.core.model import constants
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy
from buildbot_bench.core.search.grid import level_grid
from buildbot_bench.core.search.information import mixture_information
from buildbot_bench.core.search.noise_model import Readings, SearchNoise, read
from buildbot_bench.core.search.partition import (
    Normal,
    StepPrior,
    clustering_of,
    partition_posteriors,
    segment_evidence,
)
from buildbot_bench.core.search.search_range import build_range


def readings(rows: list[tuple[int, int, float]]) -> Readings:
    """Rows of (position, image, percent above the median)."""
    measurements = tuple(
        Measurement(position=p, image=i, value=100 * float(np.exp(y / 100))) for p, i, y in rows
    )
    ground = build_range(max(p for p, _, _ in rows), Evidence(), SearchPolicy())
    return read(ground, measurements)


def evidence_of(
    seen: Readings, noise: SearchNoise, prior_sd: float, claimed: float = 0.0
) -> tuple[Normal, np.ndarray]:
    """Of each stretch, under one hypothesis of the noise."""
    levels, log_evidence = segment_evidence(seen, [noise], np.array([prior_sd]), claimed)
    return Normal(mean=levels.mean[0], variance=levels.variance[0]), log_evidence[0]


def density(away: Any, sd: float) -> Any:
    return (1 - constants.OUTLIER_SHARE) * norm.pdf(
        away, scale=sd
    ) + constants.OUTLIER_SHARE / constants.OUTLIER_SPAN


def test_the_evidence_of_a_stretch_is_the_integral_over_its_level():
    seen = readings([(0, 0, -0.3), (1, 0, 0.2), (2, 0, 0.4), (3, 0, -1.0)])
    noise = SearchNoise(run=0.005, build=0.0)
    prior_sd = 0.02
    middle = 0.5 * (seen.values.min() + seen.values.max())

    def integrand(level: float) -> float:
        likelihood = np.prod([density(y - level, noise.run) for y in seen.values])
        return float(likelihood * norm.pdf(level, loc=middle, scale=prior_sd))

    expected = quad(integrand, -0.06, 0.06, points=list(seen.values), limit=500)[0]
    _, log_evidence = evidence_of(seen, noise, prior_sd)
    assert log_evidence[0, 3] == pytest.approx(np.log(expected), abs=0.02)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 70), st.sampled_from([-20.0, 0.0, 0.6])), min_size=2, max_size=14
    ),
    st.integers(0, 1000),
)
def test_many_boots_and_kernels_are_weighed_as_if_one_by_one(kernels, seed):
    rng = np.random.default_rng(seed)
    seen = readings(
        [
            (place, 0, level + 0.5 * float(y))
            for place, (boots, level) in enumerate(kernels)
            for y in rng.standard_t(3, boots)
        ]
    )
    noise, prior_sd = SearchNoise(run=0.005, build=0.0), 0.1
    stretches, log_evidence = evidence_of(seen, noise, prior_sd)
    grid = level_grid(seen, noise)
    levels, width = grid.levels, grid.width
    middle = 0.5 * (seen.values.min() + seen.values.max())
    of_value = np.log(density(seen.values[:, None] - levels, noise.run))
    prior = norm.logpdf(levels, loc=middle, scale=prior_sd) + np.log(width)
    for i in range(len(kernels)):
        for j in range(i, len(kernels)):
            inside = (seen.place_of_value >= i) & (seen.place_of_value <= j)
            log_weight = prior + of_value[inside].sum(axis=0)
            expected = np.logaddexp.reduce(log_weight)
            mean = float(np.exp(log_weight - expected) @ levels)
            alone = float(np.diag(log_evidence)[i : j + 1].sum())
            if expected > alone - 300:
                assert log_evidence[i, j] == pytest.approx(expected, abs=1e-6)
                assert stretches.mean[i, j] == pytest.approx(mean, abs=1e-9)
            else:
                assert log_evidence[i, j] < alone - 200


def test_two_boots_of_an_image_share_its_offset():
    seen = readings([(0, 0, -1.0), (0, 0, -1.1), (0, 1, 1.0), (0, 1, 1.1)])
    noise = SearchNoise(run=0.002, build=0.015)
    prior_sd = 0.05
    middle = 0.5 * (seen.values.min() + seen.values.max())

    # The sums over grids of the levels (rows) and of an image's own ones (columns).
    levels, step = np.linspace(-0.08, 0.08, 801, retstep=True)
    own, own_step = np.linspace(-0.06, 0.06, 2401, retstep=True)

    def image(values: np.ndarray) -> np.ndarray:
        boots = np.prod([density(y - own, noise.run) for y in values], axis=0)
        return norm.pdf(own, loc=levels[:, None], scale=noise.build) @ boots * own_step

    both = image(seen.values[:2]) * image(seen.values[2:])
    expected = float(both @ norm.pdf(levels, loc=middle, scale=prior_sd) * step)
    stretches, log_evidence = evidence_of(seen, noise, prior_sd)
    assert log_evidence[0, 0] == pytest.approx(np.log(expected), abs=0.1)
    # Four boots of two images know the level no better than two images allow.
    assert np.sqrt(stretches.variance[0, 0]) == pytest.approx(0.015 / np.sqrt(2), rel=0.1)


def test_an_outlier_moves_the_level_little():
    seen = readings([(0, 0, 0.0), (1, 0, 0.1), (2, 0, -0.1), (3, 0, -12.0)])
    stretches, _ = evidence_of(seen, SearchNoise(run=0.005, build=0.0), 0.05)
    assert stretches.mean[0, 3] == pytest.approx(np.median(seen.values), abs=0.003)


def test_the_posterior_of_partitions_is_the_sum_over_all_of_them():
    rng = np.random.default_rng(1)
    m = 5
    log_evidence = np.where(np.tri(m, k=-1) > 0, -np.inf, rng.normal(0, 2, (m, m)))
    gap_prior = np.array([0.1, 0.2, 0.3, 0.4])
    (result,) = partition_posteriors(
        log_evidence[None], StepPrior(gap_prior=gap_prior, clustering=np.zeros((m, m)), none=0.4)
    )
    total, step = 0.0, np.zeros(m - 1)
    for cuts in product([False, True], repeat=m - 1):
        edges = [0, *(g + 1 for g in range(m - 1) if cuts[g]), m]
        stretches = sum(log_evidence[a, b - 1] for a, b in pairwise(edges))
        # P(no step) is 40 %; one step shares the rest; each further one has 2 %.
        count = sum(cuts)
        prior = 0.4 if count == 0 else 0.6 * 0.02 ** (count - 1) * np.prod(gap_prior[list(cuts)])
        weight = prior * np.exp(stretches)
        total += weight
        step += weight * np.array(cuts)
    assert result.step == pytest.approx(step / total)


def test_a_step_clustering_of_is_the_likelier_the_nearer():
    # Measured kernels at 0, 10, 11, 12, 40, 100: gaps of (0, 10], (10, 11], (11, 12], …
    place = np.array([0, 10, 11, 12, 40, 100])
    likelier = np.exp(clustering_of(place[:-1] / 100, place[1:] / 100, 100))
    followed = sum(1 / (d * (d + 1)) for d in range(1, 29))
    # One commit on: half of the steps in company, against a hundredth of those that are anywhere.
    assert likelier[2, 2] == pytest.approx(1 + 0.1 * 0.5 / (0.02 / 100))
    assert likelier[3, 3] == pytest.approx(1 + 0.1 * followed / (0.02 * 28 / 100))
    assert likelier[2, 2] > likelier[2, 3] > likelier[2, 4] > 1
    assert (likelier[0] == 1).all()
    assert (likelier[:, -1] == 1).all()
    # The kernels at 11 and 12 are one place: the gap between them has no step.
    folded = np.exp(clustering_of(place[[0, 1, 3, 4]] / 100, place[[1, 2, 4, 5]] / 100, 100))
    assert folded[2, 2] == pytest.approx(likelier[2, 3])


def test_a_claim_says_how_far_apart_the_ends_lie_and_nothing_of_a_single_level():
    seen = readings([(0, 0, 0.4), (4, 0, 0.1), (8, 0, -0.6)])
    noise = SearchNoise(run=0.005, build=0.0)
    (_, plain), (levels, told) = (
        evidence_of(seen, noise, 0.05, claimed) for claimed in (0.0, -0.01)
    )
    upper = np.triu_indices(3)
    gain = np.zeros((3, 3))
    gain[upper] = told[upper] - plain[upper]
    assert gain[0, 2] == pytest.approx(0, abs=1e-9)
    assert gain[1, 1] == pytest.approx(0, abs=1e-9)
    assert gain[0, 1] > 0.5
    assert gain[2, 2] > 0.5
    assert levels.mean[2, 2] == pytest.approx(-0.006, abs=0.003)


@pytest.mark.parametrize(
    ("means", "least", "most"),
    [((0.0, 0.0), -1e-9, 1e-9), ((0.0, 0.005), 0.05, 0.2), ((0.0, 0.2), 0.6, np.log(2))],
)
def test_a_value_tells_at_most_what_is_asked(means, least, most):
    told = mixture_information(np.array([0.5, 0.5]), np.array(means), np.array([0.005, 0.005]))
    assert least <= told <= most
