"""What follows from min_effect, in one place."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.model import thresholds

EFFECTS = st.floats(1e-4, 0.5)


def test_by_default_sizes_of_two_ten_and_twentyfive_percent_are_expected() -> None:
    assert thresholds.expected_sizes(0.02) == pytest.approx((0.02, 0.1, 0.25))


@given(min_effect=EFFECTS, claimed=st.one_of(st.none(), EFFECTS, EFFECTS.map(lambda x: -x)))
def test_what_is_relevant_is_sought_and_a_change_is_both(
    min_effect: float, claimed: float | None
) -> None:
    relevant = thresholds.relevant_effect(min_effect, claimed)
    sought = thresholds.sought_effect(min_effect, claimed)
    assert 0 < relevant <= sought
    assert relevant < min_effect
    assert sought < max(min_effect, abs(claimed or 0.0))


def test_a_small_claim_lowers_what_is_relevant_and_a_large_one_raises_what_is_sought() -> None:
    assert thresholds.relevant_effect(0.02, -0.01) == pytest.approx(0.0075)
    assert thresholds.relevant_effect(0.02, -0.3) == pytest.approx(0.015)
    assert thresholds.sought_effect(0.02, -0.3) == pytest.approx(0.15)
    assert thresholds.sought_effect(0.02, None) == pytest.approx(0.018)


@given(effect=st.floats(-0.9, 0.9), min_effect=EFFECTS, level=st.floats(1e-3, 1e9))
def test_a_change_is_one_whichever_way_it_is_asked(
    effect: float, min_effect: float, level: float
) -> None:
    if abs(abs(effect) - min_effect) > 1e-9:
        said = thresholds.is_change(effect, min_effect)
        assert thresholds.differ(level, level * (1 + effect), min_effect) is said


def test_a_change_is_counted_in_logarithms_as_it_is_in_fractions() -> None:
    assert math.expm1(thresholds.change_in_logs(0.02)) == pytest.approx(0.02)
    assert thresholds.lab_tolerance(0.02) == pytest.approx(0.01)
    assert thresholds.usable_effect(0.02) == pytest.approx(0.1)
