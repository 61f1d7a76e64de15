"""A search says what structure the noise has, and what to do about it."""

import numpy as np
import pytest

from buildbot_bench.core.search import Costs, Evidence, Measurement, SearchPolicy, noise_structure

COSTS = Costs(build_s=0.0, boot_s=0.0, run_s=0.06)
POLICY = SearchPolicy(sigma_run=0.02, sigma_build=0.0, layout=False, images=False)


def said(values: np.ndarray, apart_s: float, policy: SearchPolicy) -> str:
    """What is said of values that were taken of both ends of a range in turn."""
    rows = tuple(
        Measurement(position=16 * (k % 2), value=float(np.exp(y)), at_s=apart_s * k)
        for k, y in enumerate(values)
    )
    return noise_structure(16, Evidence(measurements=rows), COSTS, policy)


def in_spells(count: int = 120) -> np.ndarray:
    rng = np.random.default_rng(5)
    spell = np.zeros(count)
    for k in range(1, count):
        spell[k] = 0.97 * spell[k - 1] + 0.24 * rng.normal()
    return 0.04 * spell + rng.normal(0, 0.01, count)


SHARED = SearchPolicy(sigma_run=0.02, sigma_build=0.0, layout=False, images=False, spells=True)


def test_spells_are_told_with_their_size_and_a_remedy():
    told = said(in_spells(), 0.06, SHARED)
    assert told.startswith("neighbouring runs are alike: spells of about 40 runs move them by ")
    assert told.endswith("with nothing else at work on the machine, fewer runs would do")


def test_a_drift_within_hours_is_told():
    hours = np.arange(40) / 4
    rng = np.random.default_rng(2)
    values = 0.05 * np.sin(hours / 2) + rng.normal(0, 0.005, 40)
    told = said(values, 900.0, SearchPolicy(sigma_run=0.01, sigma_build=0.0))
    assert "the lab drifts by about" in told


def test_two_speeds_of_boots_are_told():
    rng = np.random.default_rng(2)
    values = np.where(rng.random(60) < 0.3, -0.04, 0.0) + rng.normal(0, 0.01, 60)
    told = said(values, 0.0, SearchPolicy(sigma_run=0.01, sigma_build=0.0))
    assert "two speeds" in told


def first_of_builds(cold: float, *, timed: bool = True) -> str:
    """What is said of eight builds of three runs each, of which the first ones are off."""
    rng = np.random.default_rng(3)
    rows = tuple(
        Measurement(
            position=16 * (image % 2),
            image=image // 2,
            value=float(np.exp(rng.normal(0, 0.01) + (cold if boot == 0 else 0.0))),
            at_s=60.0 * (3 * image + boot) * timed,
        )
        for image in range(8)
        for boot in range(3)
    )
    return noise_structure(16, Evidence(measurements=rows), COSTS, POLICY)


def test_cold_first_runs_of_builds_are_told_with_their_size_and_a_remedy():
    told = first_of_builds(-0.05)
    assert told.startswith("the first run of a build lies -4.")
    assert "warm-up" in told
    assert "warm-up" not in first_of_builds(0.0)
    assert "the first run" not in first_of_builds(-0.05, timed=False)


@pytest.mark.parametrize("policy", [SHARED, POLICY])
def test_nothing_is_said_of_independent_noise(policy):
    values = np.random.default_rng(4).normal(0, 0.02, 120)
    assert said(values, 0.06, policy) == ""


def test_nothing_is_said_before_both_ends_were_measured():
    assert said(np.zeros(1), 1.0, SHARED) == ""
