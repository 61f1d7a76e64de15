"""A lab that drifts: what the time did is not blamed on a commit."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from simulated_lab import Lab, search

from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy
from buildbot_bench.core.search.drift import Drift, LevelPrior, follow, partitions
from buildbot_bench.core.search.noise_average import average_noise_models
from buildbot_bench.core.search.noise_model import Readings, SearchNoise, read
from buildbot_bench.core.search.partition import Partition, StepPrior, clustering_of
from buildbot_bench.core.search.posterior import Posterior
from buildbot_bench.core.search.search_range import build_range

NOISE, SD, PRIOR_SD = 0.005, 0.01, 0.02
POLICY = SearchPolicy(sigma_run=NOISE, sigma_build=0.0)
NONE = np.zeros(0, dtype=int)


def readings(values: np.ndarray, places: list[int], hour_s: float = 3600.0) -> Readings:
    """Values in ln, one an hour, at positions in the order of time."""
    rows = tuple(
        Measurement(position=p, value=float(np.exp(y)), at_s=hour_s * k)
        for k, (p, y) in enumerate(zip(places, values, strict=True))
    )
    return read(build_range(max(places), Evidence(), POLICY), rows)


def prior(places: np.ndarray) -> StepPrior:
    mass = places / places[-1]
    return StepPrior(
        gap_prior=np.diff(mass),
        clustering=clustering_of(mass[:-1], mass[1:], int(places[-1])),
        none=0.5,
    )


def drift(run: float) -> Drift:
    return Drift(noise=SearchNoise(run=run, build=0.0), sd=SD, time_s=4 * 3600.0, weight=0.1)


def posterior(seen: Readings, certain: np.ndarray = NONE) -> Partition:
    told = follow(seen, drift(NOISE), np.ones(len(seen.values), dtype=bool))
    levels = LevelPrior(middle=0.0, sd=PRIOR_SD, ends=None)
    return partitions(told, levels, prior(seen.kernels), certain).partition


def test_the_posterior_is_the_sum_over_partitions_of_the_joint_normal_density():
    rng = np.random.default_rng(4)
    seen = readings(rng.normal(0, 0.01, 8), [0, 40, 10, 20, 30, 40, 0, 10])
    apart_s = np.abs(seen.at_s[:, None] - seen.at_s)
    noise = SD**2 * np.exp(-apart_s / (4 * 3600)) + NOISE**2 * np.eye(8)
    wanted, total = np.zeros(4), 0.0
    for cuts in (c for count in range(3) for c in combinations(range(4), count)):
        edges = [0, *(g + 1 for g in cuts), 5]
        level = np.concatenate([np.full(b - a, k) for k, (a, b) in enumerate(pairwise(edges))])
        shared = level[seen.place_of_value][:, None] == level[seen.place_of_value]
        density = multivariate_normal.pdf(seen.values, cov=noise + PRIOR_SD**2 * shared)
        weight = density * np.exp(prior(seen.kernels).log_of(np.array([cuts], dtype=int))[0])
        total += weight
        wanted[list(cuts)] += weight
    found = posterior(seen)
    assert found.step == pytest.approx(wanted / total)
    # The density of the values also says that none of them is an outlier.
    assert found.log_evidence == pytest.approx(np.log(total) + 8 * np.log(0.97))
    assert posterior(seen, np.array([2])).step[2] == pytest.approx(1.0)


def test_a_drift_is_seen_in_values_that_follow_the_time_and_not_in_noise():
    rng = np.random.default_rng(1)
    places = rng.permutation(np.repeat(np.arange(0, 100, 10), 3)).tolist()
    noise, swing = rng.normal(0, NOISE, 30), 0.015 * np.sin(np.arange(30) / 3)
    for values, least, most in ((noise, 0.0, 0.05), (noise + swing, 0.95, 1.0)):
        seen = readings(values, places)
        edges = np.array([seen.kernels[:-1], seen.kernels[1:]]) / 90
        views = average_noise_models(seen, edges, 90, POLICY)
        drifting = sum(v.weight for v in views if v.ahead is not v.stretches)
        assert least <= drifting <= most


@given(st.integers(0, 2**32), st.integers(1, 25), st.sampled_from([0.0, 0.002, 0.02]))
def test_values_in_turn_weigh_as_their_joint_normal_density(seed, count, build):
    """Values of several images at times apart, some of them at once, against the dense matrix."""
    rng = np.random.default_rng(seed)
    rows = tuple(
        Measurement(
            position=int(rng.integers(0, 4)),
            image=int(rng.integers(0, 2)),
            value=float(np.exp(rng.normal(0, 0.01))),
            at_s=float(rng.choice([0.0, 1.0, 600.0, 3600.0 * rng.integers(0, 40)])),
        )
        for _ in range(count)
    )
    seen = read(build_range(4, Evidence(), POLICY), rows)
    lab = replace(drift(NOISE), noise=SearchNoise(run=NOISE, build=build))
    told = follow(seen, lab, np.ones(count, dtype=bool))
    image = np.repeat(np.arange(len(seen.image)), seen.boots_of_image)
    apart_s = np.abs(seen.at_s[:, None] - seen.at_s)
    drifting = SD**2 * np.exp(-apart_s / lab.time_s)
    covariance = drifting + build**2 * (image[:, None] == image) + NOISE**2 * np.eye(count)
    of_kernel = (seen.place_of_value[:, None] == np.arange(len(seen.kernels))) * 1.0
    weighted = np.linalg.solve(covariance, np.column_stack([of_kernel, seen.values]))
    precision = np.diff(np.diff(told.precision, axis=0), axis=1)
    close = {"rel": 1e-3, "abs": 1e-3 * np.abs(precision).max()}
    assert precision == pytest.approx(of_kernel.T @ weighted[:, :-1], **close)
    at_zero = multivariate_normal.logpdf(seen.values, np.zeros(count), covariance)
    assert told.log_at_zero == pytest.approx(at_zero + count * np.log(0.97), abs=1e-2)
    last = np.argmax(seen.at_s)
    now = drifting[:, last] @ np.linalg.solve(covariance, seen.values)
    assert told.now == pytest.approx(now, abs=1e-5)


def test_an_outlier_does_not_bend_the_drift():
    places = [0, 40, 10, 20, 30, 40, 0, 10, 20, 30]
    odd = np.arange(10) == 4
    levels = LevelPrior(middle=0.0, sd=PRIOR_SD, ends=None)
    found = []
    for value in (0.0, -0.15):
        seen = readings(np.where(odd, value, 0.0), places)
        heard = seen.at_s != 4 * 3600
        told = follow(seen, drift(NOISE), heard)
        found.append(partitions(told, levels, prior(seen.kernels), NONE).partition.step)
    assert found[1] == pytest.approx(found[0])


def test_long_after_the_last_value_nothing_is_known_of_the_drift():
    seen = readings(np.array([0.01, 0.0]), [0, 1], hour_s=1e7)
    told = follow(seen, drift(1e-5), np.array([True, False]))
    assert told.now_variance == pytest.approx(1e-10, rel=0.1)
    told = follow(seen, drift(10.0), np.array([True, True]))
    assert told.now_variance == pytest.approx(SD**2, rel=0.1)


def test_a_lab_that_turns_back_is_not_a_step():
    """The new end was booted when the lab was slow, and others there again when it was fast."""
    level, hours = -0.02, np.arange(24)
    swing = 0.01 * np.cos(2 * np.pi * hours / 16)
    places = [
        0,
        64,
        32,
        48,
        40,
        36,
        34,
        33,
        48,
        64,
        56,
        60,
        32,
        33,
        33,
        32,
        34,
        33,
        32,
        33,
        62,
        63,
        64,
        63,
    ]
    truth = np.array([level if p >= 33 else 0.0 for p in places])
    noise = np.random.default_rng(3).normal(0, NOISE, 24)
    seen = readings(truth + swing + noise, places)
    found = posterior(seen).step
    assert seen.kernels[np.argmax(found)] == 32


@pytest.mark.parametrize("seed", range(6))
def test_a_step_is_found_in_a_lab_that_warms_up(seed):
    commit = 10 + 9 * seed
    lab = Lab(n=64, steps={commit: -0.04}, seed=seed, warming=0.003)
    answer, evidence = search(lab, SearchPolicy(sigma_run=0.005, sigma_build=0.0))
    assert [(s.old, s.new) for s in answer.steps] == [(commit - 1, commit)]
    assert len(evidence.measurements) < 40


@pytest.mark.parametrize("seed", range(4))
def test_a_lab_that_warms_up_makes_no_step(seed):
    lab = Lab(n=64, steps={}, seed=seed, warming=0.003)
    answer, _ = search(lab, SearchPolicy(sigma_run=0.005, sigma_build=0.0))
    assert not answer.steps


def in_spells(share: float, runs: float, seed: int, count: int = 120) -> np.ndarray:
    """Values of variance NOISE², a share of which is of spells that last so many runs."""
    rng = np.random.default_rng(seed)
    kept, spell = np.exp(-1 / runs), np.zeros(count)
    for k in range(1, count):
        spell[k] = kept * spell[k - 1] + np.sqrt(1 - kept**2) * rng.normal()
    noise = np.sqrt(1 - share) * rng.normal(size=count)
    return NOISE * (np.sqrt(share) * spell + noise)


def views_of_runs(values: np.ndarray, *, spells: bool = True) -> tuple[Posterior, ...]:
    places = np.random.default_rng(3).choice(np.arange(0, 100, 10), len(values)).tolist()
    places[:2] = [0, 90]
    seen = readings(values, places, hour_s=0.06)
    edges = np.array([seen.kernels[:-1], seen.kernels[1:]]) / 90
    return average_noise_models(seen, edges, 90, replace(POLICY, spells=spells))


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.4), (0.8, 0.9, 1.0 + 1e-9)])
def test_spells_are_seen_where_neighbours_in_time_are_alike(share, least, most):
    found = [
        sum(view.weight for view in views_of_runs(in_spells(share, 8, seed)) if view.drift)
        for seed in range(3)
    ]
    assert all(least <= one <= most for one in found), found


def test_boots_do_not_come_in_spells():
    values = in_spells(0.8, 8, 0)
    assert not any(view.drift and view.drift.runs for view in views_of_runs(values, spells=False))


@given(run=st.floats(1e-6, 1.0), sd=st.floats(0.0, 1.0), runs=st.sampled_from([0.0, 4.0, 40.0]))
def test_spells_only_add_to_the_noise_of_a_value(run, sd, runs):
    spell = replace(drift(run), sd=sd, runs=runs)
    assert spell.noise_of_values.run >= spell.noise.run
    assert (spell.noise_of_values == spell.noise) == (not runs or np.hypot(run, sd) == run)
