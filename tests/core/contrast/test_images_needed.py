"""How many images and boots a comparison asks for, beforehand and on the way."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from buildbot_bench.core.contrast.difference import difference
from buildbot_bench.core.contrast.needed import (
    MOST,
    MoreOfEach,
    boots_of_image,
    images_needed,
    next_of_each,
)
from buildbot_bench.core.model.learn import learn
from tests.fakes.compared import LEARNT

APU2 = replace(LEARNT, sigma_run=0.0094, far_share=0.015, far_below=0.007)
EFFECTS = st.floats(0.003, 0.5)


def test_two_tell_nine_percent_and_nine_three_percent_where_builds_vary_by_sixteen() -> None:
    assert images_needed(-0.09, APU2) == 2
    assert images_needed(0.03, APU2) == 9
    assert images_needed(0.3, APU2) == 1
    assert boots_of_image(APU2) == 2


def test_a_testbed_without_a_history_is_asked_for_more() -> None:
    assert images_needed(-0.09, learn([])) == 4
    assert images_needed(0.03, learn([])) > images_needed(0.03, APU2)


def test_where_boots_are_what_varies_images_get_more_of_them() -> None:
    assert boots_of_image(replace(APU2, sigma_run=0.02)) == 4
    assert boots_of_image(replace(APU2, sigma_run=0.2)) == 5


def test_counted_metrics_need_one_image() -> None:
    exact = replace(APU2, sigma_build=1e-6, far_share=0.0)
    assert images_needed(0.001, exact) == 1


def test_a_hopeless_number_is_not_told_exactly() -> None:
    assert images_needed(0.001, APU2) == MOST
    assert images_needed(0.0, APU2) == MOST


@given(smaller=EFFECTS, larger=EFFECTS, sign=st.sampled_from((-1, 1)))
def test_a_larger_effect_needs_no_more_images(smaller: float, larger: float, sign: int) -> None:
    assume(smaller < larger)
    assert images_needed(sign * larger, APU2) <= images_needed(sign * smaller, APU2)


@given(effect=EFFECTS, wider=st.floats(1.0, 4.0))
def test_more_build_noise_needs_no_fewer_images(effect: float, wider: float) -> None:
    rough = replace(APU2, sigma_build=wider * APU2.sigma_build)
    assert images_needed(effect, APU2) <= images_needed(effect, rough)


@given(
    needs=st.builds(MoreOfEach, boots=st.integers(1, 99), images=st.integers(0, 40)),
    have=st.builds(MoreOfEach, boots=st.integers(1, 99), images=st.integers(1, 40)),
)
def test_one_goes_no_further_than_twice_before_one_looks_again(
    needs: MoreOfEach, have: MoreOfEach
) -> None:
    needs = replace(needs, boots=max(needs.boots, needs.images))
    step = next_of_each(needs, have)
    assert 1 <= step.boots <= needs.boots
    assert step.images <= min(needs.images, have.images)
    assert step.images > 0 or not needs.images


def test_the_interval_is_students_where_nothing_but_boots_varies() -> None:
    rng = np.random.default_rng(3)
    known = replace(APU2, df_run=1e6, sigma_run=0.01)
    base, new = ({0: np.exp(rng.normal(0, 0.01, 8)).tolist()} for _ in range(2))
    found = difference(base, new, known, layout=False)
    reach = found.quantile(0.975) - found.quantile(0.5)
    assert reach == pytest.approx(1.96 * 0.01 * math.sqrt(2 / 8), rel=0.02)


def test_images_that_lie_wide_apart_widen_the_interval() -> None:
    calm = {image: [1.0] * 3 for image in range(4)}
    wide = {image: [math.exp(0.04 * (image - 1.5))] * 3 for image in range(4)}
    reach = [
        (found := difference(calm, other, APU2)).quantile(0.975) - found.quantile(0.025)
        for other in (calm, wide)
    ]
    assert reach[1] > 1.5 * reach[0]


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    rng, held = np.random.default_rng(11), 0
    for _ in range(200):
        base, new = (
            {
                image: np.exp(level + rng.normal(0, 0.016) + rng.normal(0, 0.0094, 2)).tolist()
                for image in range(4)
            }
            for level in (0.0, 0.05)
        )
        found = difference(base, new, APU2)
        held += found.quantile(0.025) <= 0.05 <= found.quantile(0.975)
    assert 180 <= held <= 199  # of 200 at 95 %
