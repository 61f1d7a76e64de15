"""A regression is over when its level is back; half a way back is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.incident.model import returned_level

BEFORE = (1000.0, 1004.0, 996.0)


@pytest.mark.parametrize(
    ("now", "back"),
    [(1000.0, True), (985.0, True), (975.0, False), (1100.0, True), (900.0, False)],
)
def test_the_level_is_back_when_less_is_lost_than_anybody_is_told_of(now, back):
    level = returned_level(BEFORE, [now], effect=-0.1, min_effect=0.02)
    assert level is not None
    assert level.back is back
    assert level.difference == pytest.approx(now / 1000 - 1)


@pytest.mark.parametrize(("now", "back"), [(985.0, False), (991.0, True)])
def test_of_a_small_regression_more_than_half_must_have_come_back(now, back):
    level = returned_level(BEFORE, [now], effect=-0.02, min_effect=0.02)
    assert level is not None
    assert level.back is back


def test_where_less_is_better_the_level_is_back_from_above():
    worse = returned_level(BEFORE, [1050.0], effect=0.1, min_effect=0.02, higher_is_better=False)
    well = returned_level(BEFORE, [1010.0], effect=0.1, min_effect=0.02, higher_is_better=False)
    better = returned_level(BEFORE, [900.0], effect=0.1, min_effect=0.02, higher_is_better=False)
    assert [level.back for level in (worse, well, better) if level] == [False, True, True]


@pytest.mark.parametrize(("before", "now"), [((), (1.0,)), ((1.0,), ()), ((0.0,), (1.0,))])
def test_without_values_nothing_is_said(before, now):
    assert returned_level(before, now, effect=-0.1, min_effect=0.02) is None


@given(st.floats(1.0, 1e6), st.floats(0.02, 0.5), st.floats(0.005, 0.05), st.floats(0.0, 1.0))
def test_what_is_nearer_to_the_new_level_is_never_taken_for_the_old_one(
    level, lost, min_effect, share
):
    now = level * (1 - lost * (0.5 + share / 2 + 1e-6))
    found = returned_level([level], [now], effect=-lost, min_effect=min_effect)
    assert found is not None
    assert not found.back
