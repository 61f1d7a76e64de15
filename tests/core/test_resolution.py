"""The resolution of a metric, as it is seen and told, and the noise that rounding makes."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.compare.verdict import VerdictTerms, compare_sides
from buildbot_bench.core.model.learn import learn, resolution, rounding_words, with_rounding
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import PPS, Iteration, Sample

STILL = Noise(sigma_run=1e-6, sigma_build=1e-6, df_run=8, df_build=8)


@given(
    step=st.floats(1e-3, 1e3),
    steps=st.lists(st.integers(20, 60), min_size=4, unique=True),
    shift=st.floats(0, 1),
)
def test_the_step_of_a_grid_divides_all_differences(
    step: float, steps: list[int], shift: float
) -> None:
    values = [step * (number + shift) for number in steps]
    found = resolution(values) * float(np.median(values))
    differences = np.diff(sorted(values)) / found
    assert differences == pytest.approx(np.round(differences), abs=1e-3)
    assert found >= 0.999 * step


def test_values_that_were_not_rounded_have_no_step() -> None:
    rng = np.random.default_rng(1)
    assert resolution(rng.normal(60, 1, 30).tolist()) == 0.0


@pytest.mark.parametrize("values", [(60.0,), (50.0, 70.0), (60.0,) * 9])
def test_too_few_values_tell_no_step(values: tuple[float, ...]) -> None:
    assert resolution(values) == 0.0
    assert resolution(values, stated=6.0) == pytest.approx(0.1)


@pytest.mark.parametrize("own", [0.0, 0.15, 0.3, 0.5, 1.0])
def test_the_bias_is_what_many_rounded_levels_are_off_by(own: float) -> None:
    rng = np.random.default_rng(2)
    level = np.linspace(0, 1, 400, endpoint=False)
    seen = np.round(level[:, None] + own * rng.normal(size=(400, 2000)))
    off = (seen.mean(axis=1) - level).std()
    run = sqrt(own**2 + 1 / 12)
    found = with_rounding(Noise(sigma_run=0.04 * run, sigma_build=0, df_run=8, df_build=8), 0.04)
    assert found.rounding / 0.04 == pytest.approx(off, abs=0.03)


def test_equal_readings_of_a_coarse_clock_are_not_without_noise() -> None:
    readings = [(60, 60, 60), (60, 60), (60, 70, 60), (60, 60)]
    samples = [
        Sample(
            label=f"n{place}",
            position=place,
            iterations=tuple(Iteration(value=value / 1000) for value in values),
        )
        for place, values in enumerate(readings)
    ]
    noise = learn(samples)
    assert noise.resolution == pytest.approx(1 / 6)
    assert noise.sigma_run >= 1 / 6 / sqrt(12)
    assert noise.sigma_build >= noise.rounding >= 0.04


def test_readings_of_which_half_lie_a_step_higher_vary_by_half_a_step() -> None:
    rng = np.random.default_rng(3)
    samples = [
        Sample(
            label=f"n{place}",
            position=place,
            iterations=tuple(Iteration(value=float(v)) for v in rng.integers(20, 22, 6)),
        )
        for place in range(30)
    ]
    assert learn(samples).sigma_run == pytest.approx(0.5 / 20.5, rel=0.2)


def test_a_fine_step_changes_no_noise() -> None:
    noise = Noise(sigma_run=0.01, sigma_build=0.02, df_run=8, df_build=8)
    assert with_rounding(noise, 0.0005) is noise
    assert with_rounding(STILL, 0.04).sigma_run == pytest.approx(0.04 / sqrt(12))


def test_a_comparison_that_rounding_may_make_is_undecided() -> None:
    coarse, fine = (
        compare_sides(
            {0: [0.060] * 5},
            {0: [0.062] * 5},
            None,
            VerdictTerms(min_effect=0.02, layout=False, images=False, resolution=step),
        )
        for step in (0.002, 0.00001)
    )
    assert coarse.verdict.kind == "undecided"
    assert fine.verdict.kind == "better"


def test_coarse_steps_are_said_and_two_values_are_none() -> None:
    assert rounding_words(PPS, (50.0, 51.0, 53.0) * 2, 0.0, 0.02) == (
        "Values are rounded to steps of 2 %: a smaller difference may be rounding, and a smaller "
        "change may not show."
    )
    assert not rounding_words(PPS, (50.0, 50.0, 53.0) * 2, 0.0, 0.02)
    assert not rounding_words(PPS, (500.0, 501.0, 503.0) * 2, 0.0, 0.02)
