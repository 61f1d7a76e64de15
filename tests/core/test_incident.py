"""Which alarms belong together, on which series they are searched, and what exact figures tell."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.model import AlarmedSeries, may_share_a_change
from buildbot_bench.core.sample import (
    INSTRUCTIONS_PER_PACKET,
    PPS,
    Iteration,
    Sample,
)
from buildbot_bench.core.search import (
    Costs,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    plan,
)
from buildbot_bench.core.search.information import (
    bits_per_boot,
    bits_to_find,
    information_per_second,
    is_worth_moving,
)
from buildbot_bench.core.touched import exact_levels, exact_weights

FORWARDING = AlarmedSeries(
    testbed="apu", workload="forwarding", unit="pps", configuration="main",
    old=5, new=10, effect=-0.05,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "shared"),
    [
        ({}, True),
        ({"workload": "pf"}, True),
        ({"testbed": "xeon", "workload": "pf"}, True),
        ({"old": 9, "new": 12}, True),
        ({"old": 10, "new": 12}, False),
        ({"old": 1, "new": 5}, False),
        ({"effect": 0.05}, False),
        ({"unit": "instructions/packet", "effect": 0.01}, True),
        ({"unit": "instructions/packet", "effect": -0.01}, False),
        ({"configuration": "stable/14"}, False),
    ],
)
def test_alarms_share_a_change_of_one_direction_in_ranges_that_overlap(change, shared):
    other = replace(FORWARDING, **change)
    assert may_share_a_change(FORWARDING, other) is shared
    assert may_share_a_change(other, FORWARDING) is shared


def test_a_boot_tells_one_bit_at_most_and_nothing_of_no_step():
    assert bits_per_boot(0.0, 0.005) == pytest.approx(0.0, abs=1e-9)
    assert bits_per_boot(-0.3, 0.005) == pytest.approx(1.0)
    assert bits_per_boot(-0.3, 0.0) == 1.0
    assert bits_per_boot(-0.005 * 2.09, 0.005) == pytest.approx(0.5, abs=0.02)


@given(d=st.floats(0.05, 20.0), more=st.floats(1.05, 3.0), sigma=st.floats(1e-4, 0.02))
def test_a_larger_step_or_less_noise_tells_no_less(d, more, sigma):
    known = bits_per_boot(math.expm1(d * sigma), sigma)
    assert bits_per_boot(math.expm1(more * d * sigma), sigma) >= known - 1e-9
    assert bits_per_boot(math.expm1(d * sigma), sigma, sigma) <= known + 1e-9


def test_the_capacity_is_that_of_a_simulated_channel():
    rng, d = np.random.default_rng(1), 1.5
    z = rng.normal(size=400_000)
    simulated = 1 - np.mean(np.log2(1 + np.exp(-d * (d / 2 + z))))
    assert bits_per_boot(math.expm1(d * 0.01), 0.01) == pytest.approx(simulated, abs=0.005)


def score(effect: float, boot_s: float = 60.0) -> float:
    return information_per_second(
        effect, sigma_run=0.005, sigma_build=0.0, boot_s=boot_s, run_s=30.0
    )


def test_the_series_with_the_larger_step_and_the_quicker_boot_comes_first():
    assert score(-0.05) > score(-0.005)
    assert score(-0.05, boot_s=60.0) > score(-0.05, boot_s=600.0)


def test_a_search_moves_only_while_that_ends_it_sooner():
    slow, quick = score(-0.05, boot_s=600.0), score(-0.05)
    whole_s = bits_to_find(256) / slow
    assert is_worth_moving(here=slow, there=quick, spent_s=0.0, commits=256)
    assert not is_worth_moving(here=slow, there=quick, spent_s=0.9 * whole_s, commits=256)
    assert not is_worth_moving(here=quick, there=quick, spent_s=0.0, commits=256)
    assert is_worth_moving(here=0.0, there=quick, spent_s=0.0, commits=256)
    assert not is_worth_moving(here=quick, there=0.0, spent_s=0.0, commits=256)


def counted(position: int, *values: float, metric=INSTRUCTIONS_PER_PACKET, epoch="1") -> Sample:
    return Sample(
        label=f"r{position}", position=position, metric=metric, epoch=epoch,
        iterations=tuple(Iteration(value=v, at_s=float(epoch)) for v in values),
    )  # fmt: skip


def test_levels_are_those_of_the_exact_metric_in_the_epoch_that_was_counted_last():
    samples = [
        counted(1, 900.0),
        counted(2, 1000.0, 1002.0, 1001.0, epoch="2"),
        counted(3, 1e6, metric=PPS, epoch="3"),
        counted(4, epoch="4"),
    ]
    assert exact_levels(samples) == {2: 1001.0}
    assert exact_levels([]) == {}


def test_half_of_the_weight_is_where_the_figure_moved_in_either_direction():
    levels = dict.fromkeys(range(11), 1000.0) | dict.fromkeys(range(4, 8), 1010.0)
    weights = exact_weights(10, levels, relevant=0.02)
    assert sum(weights) == pytest.approx(1.0)
    assert weights[3] == pytest.approx(0.25 + 0.05)
    assert weights[7] == pytest.approx(0.25 + 0.05)
    assert weights[0] == pytest.approx(0.05)


def test_a_move_counts_for_no_more_than_what_is_looked_for():
    levels = {0: 1000.0, 1: 1020.0, 2: 5000.0, 3: 5000.0}
    first, second, third = exact_weights(3, levels, relevant=0.01)
    assert (first, third) == (pytest.approx(second), pytest.approx(0.5 / 3))


def test_a_move_between_commits_that_were_not_counted_is_shared():
    weights = exact_weights(4, {0: 1000.0, 2: 1010.0, 4: 1010.0}, relevant=0.02)
    assert weights == pytest.approx((0.375, 0.375, 0.125, 0.125))


def test_a_figure_that_never_moved_tells_nothing():
    levels = {0: 1000.0, 5: 1000.2}
    assert exact_weights(5, levels, relevant=0.02) is None
    assert exact_weights(5, {}, relevant=0.02, base=(1, 2, 3, 4, 5)) == (1, 2, 3, 4, 5)


def test_both_sources_are_multiplied():
    levels = dict.fromkeys(range(5), 1000.0) | {1: 1010.0}
    weights = exact_weights(4, levels, relevant=0.02, base=(1.0, 3.0, 1.0, 1.0))
    assert weights[1] == pytest.approx(0.5 * 3 / 4 + 0.5 / 4)
    assert weights[0] == pytest.approx(0.5 * 1 / 4 + 0.5 / 4)


def test_the_hardware_boots_next_to_the_commit_that_moved_the_figure_first():
    levels = dict.fromkeys(range(1001), 1000.0) | dict.fromkeys(range(701, 1001), 1010.0)
    policy = SearchPolicy(
        claimed=-0.05,
        sigma_run=0.005,
        sigma_build=0.0,
        weights=exact_weights(1000, levels, relevant=0.02),
    )
    ends = {0: 1e6, 1000: 0.95e6}
    evidence = Evidence(
        measurements=tuple(
            Measurement(position=at, value=value) for at, value in ends.items() for _ in range(3)
        )
    )
    asked = plan(1000, evidence, Costs(build_s=1200, boot_s=180, run_s=120), policy)
    assert isinstance(asked, Measure)
    assert asked.position in {700, 701}


@given(
    figures=st.dictionaries(st.integers(0, 40), st.floats(1.0, 1e7), max_size=41),
    base=st.none() | st.lists(st.floats(0, 100), min_size=40, max_size=40),
    relevant=st.floats(1e-4, 0.5),
)
def test_a_wrong_prior_costs_at_most_a_bit_more_than_a_flat_one(figures, base, relevant):
    weights = exact_weights(40, figures, relevant=relevant, base=base)
    if weights is None or weights == tuple(base or ()):
        return  # the figure says nothing
    may_be = [base is None or sum(base) == 0 or own > 0 for own in base or [1.0] * 40]
    assert sum(weights) == pytest.approx(1.0)
    for weight, is_possible in zip(weights, may_be, strict=True):
        assert (weight >= 0.5 / sum(may_be) * (1 - 1e-9)) == is_possible


@pytest.mark.parametrize(
    ("levels", "base", "word"),
    [
        ({9: 1.0}, None, "position 9"),
        ({1: 0.0}, None, "not positive"),
        ({1: 1.0}, (1.0,), "1 base weights for 8"),
    ],
)
def test_what_cannot_be_is_refused(levels, base, word):
    with pytest.raises(UsageError, match=word):
        exact_weights(8, levels, relevant=0.02, base=base)


def test_which_way_is_worse_is_said_with_a_series_or_by_its_unit():
    rise = {"effect": 0.2, "unit": "s"}
    assert not replace(FORWARDING, **rise).worse
    assert replace(FORWARDING, **rise, higher_is_better=False).worse
    slower = replace(FORWARDING, **rise, higher_is_better=False, workload="other")
    assert may_share_a_change(FORWARDING, slower) is FORWARDING.worse
    assert replace(FORWARDING, effect=0.2, unit="instructions/packet").worse
