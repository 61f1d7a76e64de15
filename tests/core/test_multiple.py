"""p values of many tests, corrected so that all together err as one would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.ministat import holm

P_VALUES = st.lists(st.floats(0.0, 1.0), max_size=16)


def test_each_is_multiplied_by_how_many_are_no_smaller():
    # As R's p.adjust by "holm" has it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_one_alone_stays_as_it_is():
    assert holm([0.04]) == (0.04,)
    assert holm([]) == ()


@given(P_VALUES)
def test_it_lies_between_the_p_value_and_bonferronis(p_values):
    corrected = holm(p_values)
    for before, after in zip(p_values, corrected, strict=True):
        assert before <= after <= min(1.0, len(p_values) * before) or after == pytest.approx(before)


@given(P_VALUES)
def test_the_order_of_what_is_likely_stays(p_values):
    corrected = holm(p_values)
    ranked = sorted(range(len(p_values)), key=lambda index: p_values[index])
    in_order = [corrected[index] for index in ranked]
    assert in_order == sorted(in_order)


@given(P_VALUES.flatmap(st.permutations))
def test_it_does_not_matter_which_stands_first(p_values):
    assert sorted(holm(p_values)) == sorted(holm(sorted(p_values)))


def test_a_family_without_differences_is_called_changed_as_seldom_as_one_test():
    drawn = np.random.default_rng(7).uniform(size=(4000, 15))
    wrong = sum(min(holm(list(family))) < 0.05 for family in drawn) / len(drawn)
    assert wrong == pytest.approx(0.05, abs=0.01)
