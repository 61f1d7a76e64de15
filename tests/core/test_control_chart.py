"""The control chart: quiet while the testbed is well, quick and lasting when it is not."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.control_chart import (
    ChartPolicy,
    Round,
    RoundSpread,
    Signal,
    Span,
    chart,
    has_recovered,
    learn_spread,
)
from buildbot_bench.core.errors import UsageError

KNOWN = RoundSpread(boot=0.004, between=0.002, df=1e6)
USUAL = ChartPolicy()
STRICT = ChartPolicy(tolerance=0.0)
BOOTS = 3
DAY_S = 86400.0


def rounds(*deviations: float, level: float = 1e6, seed: int = 1) -> list[Round]:
    """One round a day, each off by a fraction, with the noise of KNOWN."""
    noise = np.random.default_rng(seed)
    days = np.log1p(deviations) + KNOWN.between * noise.normal(size=len(deviations))
    boots = KNOWN.boot * noise.normal(size=(len(deviations), BOOTS))
    values = level * np.exp(days[:, None] + boots)
    return [Round(at_s=DAY_S * day, values=tuple(row)) for day, row in enumerate(values.tolist())]


def signals(*deviations: float, policy: ChartPolicy = USUAL, seed: int = 1) -> list[int]:
    """Which rounds signal."""
    points = chart(rounds(*deviations, seed=seed), KNOWN, policy).points
    return [place for place, point in enumerate(points) if point.signal]


def test_a_leap_of_five_percent_shows_in_the_first_round():
    shown = chart(rounds(*[0.0] * 8, -0.05), KNOWN, ChartPolicy())
    assert shown.points[-1].signal is Signal.LEAP
    assert shown.points[-1].deviation == pytest.approx(-0.05, abs=0.01)
    assert [point.signal for point in shown.points[:-1]] == [None] * 8


def test_a_shift_of_one_and_a_half_percent_shows_within_a_few_rounds():
    first = [signals(*[0.0] * 20, *[0.015] * 10, seed=seed)[0] for seed in range(50)]
    assert np.median(first) <= 24
    assert max(first) < 30


def test_a_creep_is_found_although_it_is_in_no_single_round():
    creep = [-0.0005 * day for day in range(60)]
    shown = chart(rounds(*[0.0] * 20, *creep), KNOWN, ChartPolicy(tolerance=0.005))
    first = next(point for point in shown.points if point.signal)
    assert first.signal is Signal.DRIFT
    assert abs(first.deviation) < first.limit


def test_what_is_too_small_to_turn_a_verdict_is_no_signal():
    small = [0.0] * 20 + [0.008] * 30
    assert signals(*small) == []
    assert signals(*small, policy=STRICT)


def test_in_control_run_length_is_about_500_rounds():
    """The stated one, on rounds of simulated boots whose level and order nobody knew before."""
    longest, lengths = 2500, []
    for seed in range(150):
        values = np.exp(KNOWN.boot * np.random.default_rng(seed).normal(size=longest)).tolist()
        seen = [Round(at_s=float(at), values=(value,)) for at, value in enumerate(values)]
        points = chart(seen, replace(KNOWN, between=0.0), STRICT).points
        lengths.append(next((n for n, p in enumerate(points, start=1) if p.signal), longest))
    error = np.std(lengths) / math.sqrt(len(lengths))
    assert abs(np.mean(lengths) - 490) < 3.5 * error, f"{np.mean(lengths):.0f} ± {error:.0f}"


def test_a_spread_that_is_little_known_widens_the_limits():
    seen = rounds(*[0.0] * 5, -0.02)
    known, guessed = (chart(seen, replace(KNOWN, df=df), ChartPolicy()) for df in (1e6, 4.0))
    assert known.points[-1].signal is Signal.LEAP
    assert guessed.points[-1].signal is None
    assert guessed.points[-1].limit > 2 * known.points[-1].limit


def test_the_first_round_says_nothing_and_sets_the_level():
    shown = chart(rounds(0.3), KNOWN, ChartPolicy())
    assert shown.points[0].signal is None
    assert shown.points[0].deviation == 0.0
    assert shown.reference == pytest.approx(1.3e6, rel=0.01)


def test_no_round_at_all_is_an_empty_chart():
    shown = chart([], KNOWN, ChartPolicy())
    assert (shown.points, shown.reference, shown.newest, shown.good) == ((), None, None, ())


def test_a_control_image_that_gives_no_value_is_a_signal_once_it_gave_one():
    silent = Round(at_s=9e9, failure="the DUT does not boot")
    assert chart([silent], KNOWN, ChartPolicy()).points[-1].signal is None
    assert chart([*rounds(0.0), silent], KNOWN, ChartPolicy()).points[-1].signal is Signal.NO_VALUE


def test_a_control_image_that_never_gave_a_value_is_a_signal_the_second_time():
    silent = [Round(at_s=day * DAY_S, failure="the DUT does not boot") for day in (1, 2, 3)]
    shown = chart(silent, KNOWN, ChartPolicy())
    assert [point.signal for point in shown.points] == [None, Signal.NO_VALUE, Signal.NO_VALUE]
    late = [silent[0], *(replace(one, at_s=9e6) for one in rounds(0.0))]
    assert not any(point.signal for point in chart(late, KNOWN, ChartPolicy()).points)


def test_one_wild_boot_of_three_is_no_signal():
    seen = rounds(*[0.0] * 10)
    wild = Round(at_s=1e9, values=(1e6, 1.002e6, 0.8e6))
    assert chart([*seen, wild], KNOWN, ChartPolicy()).points[-1].signal is None


def test_rounds_of_an_excluded_time_teach_nothing_and_are_forgotten():
    seen = rounds(*[0.0] * 8, *[-0.05] * 4, *[0.0] * 8)
    excluded = [Span(since_s=7 * DAY_S, until_s=11 * DAY_S)]
    shown = chart(seen, KNOWN, ChartPolicy(), excluded=excluded)
    assert [point.excluded for point in shown.points] == [False] * 8 + [True] * 4 + [False] * 8
    assert not any(point.signal for point in shown.points)
    assert shown.reference == pytest.approx(1e6, rel=0.003)
    assert len(shown.good) == 16


def test_an_exact_metric_signals_beyond_the_tolerance_only():
    exact = RoundSpread(boot=1e-6, between=1e-6, df=1e3)
    seen = [Round(at_s=float(n), values=(5000.0,) * 3) for n in range(5)]

    def last(value: float) -> Signal | None:
        point = Round(at_s=9.0, values=(value,) * 3)
        return chart([*seen, point], exact, ChartPolicy(tolerance=0.001)).points[-1].signal

    assert last(5004.0) is None
    assert last(5006.0) is Signal.LEAP


@given(
    st.lists(st.floats(-0.3, 0.3), min_size=1, max_size=30),
    st.floats(1e-3, 1e12),
    st.integers(0, 2**20),
)
def test_the_unit_does_not_matter(deviations, factor, seed):
    seen = rounds(*deviations, seed=seed)
    scaled = [replace(one, values=tuple(factor * v for v in one.values)) for one in seen]
    first, second = (chart(each, KNOWN, ChartPolicy()).points for each in (seen, scaled))
    assert [p.signal for p in first] == [p.signal for p in second]
    assert [p.deviation for p in first] == pytest.approx([p.deviation for p in second], abs=1e-9)


@given(st.lists(st.floats(-0.3, 0.3), min_size=2, max_size=30), st.integers(0, 2**20))
def test_what_comes_later_changes_nothing_that_was_said(deviations, seed):
    seen = rounds(*deviations, seed=seed)
    whole, part = (chart(each, KNOWN, ChartPolicy()) for each in (seen, seen[:-1]))
    assert whole.points[:-1] == part.points


@given(
    st.lists(
        st.builds(
            Round,
            at_s=st.floats(0, 1e9),
            values=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=4).map(tuple),
        ),
        max_size=12,
    )
)
def test_no_value_however_odd_breaks_the_chart(odd):
    shown = chart(odd, KNOWN, ChartPolicy())
    assert len(shown.points) == len(odd)


def test_the_spread_is_learnt_from_the_rounds():
    days = 0.01 * np.random.default_rng(2).normal(size=200)
    learnt = learn_spread(rounds(*days))
    assert learnt.boot == pytest.approx(KNOWN.boot, rel=0.2)
    assert learnt.between == pytest.approx(0.01, rel=0.3)
    assert learnt.df > 50


def test_a_new_lab_is_assumed_to_vary_as_the_archive_does():
    assert learn_spread([]) == RoundSpread(boot=0.008, between=0.004, df=8.0)


def test_two_good_rounds_in_a_row_end_it_and_one_does_not():
    def recovers(*deviations: float) -> bool:
        excluded = [Span(since_s=9 * DAY_S)]
        shown = chart(
            rounds(*[0.0] * 10, -0.05, *deviations), KNOWN, ChartPolicy(), excluded=excluded
        )
        return has_recovered(shown.points[11:], -0.05, ChartPolicy())

    assert not recovers()
    assert not recovers(0.0)
    assert recovers(0.0, 0.0)
    assert recovers(-0.05, 0.0, 0.0)
    assert not recovers(0.0, -0.05, 0.0)
    assert not recovers(-0.03, -0.03)
    assert not recovers(0.05, 0.05)


def test_a_small_shift_that_lasts_does_not_pass_for_good():
    excluded = [Span(since_s=9 * DAY_S)]
    shown = chart(rounds(*[0.0] * 10, *[0.012] * 6), KNOWN, ChartPolicy(), excluded=excluded)
    assert not has_recovered(shown.points[11:], 0.012, ChartPolicy())


def test_rounds_without_values_are_no_recovery_and_values_after_silence_are():
    excluded = [Span(since_s=2 * DAY_S)]
    silent = Round(at_s=1e9, failure="no boot")
    seen = rounds(0.0, 0.0, 0.0)
    again = [replace(one, at_s=2e9 + one.at_s) for one in seen[:2]]
    shown = chart([*seen, silent, silent, *again], KNOWN, ChartPolicy(), excluded=excluded)
    assert not has_recovered(shown.points[3:5], None, ChartPolicy())
    assert has_recovered(shown.points[3:], None, ChartPolicy())


def test_limits_that_make_no_chart_are_refused():
    with pytest.raises(UsageError, match="make no control chart"):
        ChartPolicy(weight=0.0)
