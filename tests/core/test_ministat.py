"""Student's t as ministat computes it: known figures, properties, what it refuses and doubts."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.ministat import (
    CONFIDENCE_LEVELS,
    compare,
    compare_summaries,
    summarize,
    t_quantile,
)

OLD = (152698.0, 152813.0, 152818.0, 152726.0, 152852.0)
NEW = (94883.0, 95090.0, 94818.0, 94377.0, 94324.0)
NAN = math.nan

rates = st.integers(min_value=-(10**7), max_value=10**7).map(float)
samples = st.lists(rates, min_size=3, max_size=30)
levels = st.sampled_from(CONFIDENCE_LEVELS)


def varies(values: list[float]) -> bool:
    return len(set(values)) > 1


def test_summary_of_a_published_sample():
    summary = summarize(NEW)
    assert (summary.n, summary.minimum, summary.maximum) == (5, 94324, 95090)
    assert (summary.median, summary.mean) == (94818, 94698.4)
    assert f"{summary.stddev:.8g}" == "333.61849"
    assert summary.variance == pytest.approx(111301.3)


def test_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two():
    assert summarize([4, 1, 3, 10]).median == 3.5


def test_mean_is_summed_from_left_to_right_without_compensation():
    assert summarize([1, 1e16, -1e16, 3]).mean == 0.75  # sorted or compensated: 1


def test_variance_survives_a_large_mean():
    assert summarize([1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]).variance == 30


def test_variance_of_thrice_a_tenth_is_the_rounding_of_its_mean():
    assert f"{summarize([0.1, 0.1, 0.1]).stddev:.8g}" == "1.6996749e-17"


def test_population_deviation_divides_by_n():
    assert summarize([2, 4, 4, 4, 5, 5, 7, 9]).population_stddev == pytest.approx(2)


def test_nan_makes_mean_and_deviation_nan_and_sorts_last():
    summary = summarize([NAN, 2, 1, 3])
    assert (summary.minimum, summary.median) == (1, 2.5)
    assert all(map(math.isnan, (summary.maximum, summary.mean, summary.stddev)))


@given(samples)
def test_summary_agrees_with_numpy(values: list[float]):
    summary = summarize(values)
    assert summary.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
    assert summary.variance == pytest.approx(np.var(values, ddof=1), rel=1e-9, abs=1e-6)
    assert summary.median == np.median(values)
    assert (summary.minimum, summary.maximum) == (min(values), max(values))


@pytest.mark.parametrize("values", [[], [1], [1, 2]])
def test_fewer_than_three_values_are_refused(values: Sequence[float]):
    with pytest.raises(UsageError, match=f"sample of {len(values)} values.*at least 3"):
        summarize(values)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1.1e100, -1e300])
def test_what_ministat_crashes_on_is_refused_by_its_place(value: float):
    with pytest.raises(UsageError, match="value 2 of a sample"):
        summarize([1, value, 3])


@pytest.mark.parametrize(
    ("df", "row"),
    [
        (4, (1.533, 2.132, 2.776, 3.747, 4.604, 7.173)),
        (8, (1.397, 1.860, 2.306, 2.896, 3.355, 4.499)),
        (18, (1.330, 1.734, 2.101, 2.552, 2.878, 3.610)),
        (100, (1.290, 1.660, 1.984, 2.364, 2.626, 3.174)),
        (101, (1.282, 1.645, 1.960, 2.326, 2.576, 3.090)),
        (10**6, (1.282, 1.645, 1.960, 2.326, 2.576, 3.090)),
    ],
)
def test_rows_of_the_table(df: int, row: tuple[float, ...]):
    assert tuple(t_quantile(df, level) for level in CONFIDENCE_LEVELS) == row


def test_column_99_5_is_the_quantile_of_99_8_percent_but_for_seven_entries():
    odd = {
        df: t_quantile(df, 99.5)
        for df in range(1, 101)
        if t_quantile(df, 99.5) != round(float(stats.t.ppf(0.999, df)), 3)
    }
    assert odd == {
        1: 318.313,
        7: 4.782,
        8: 4.499,
        9: 4.296,
        10: 4.143,
        11: 4.024,
        12: 3.929,
    }


@given(st.integers(1, 100), st.sampled_from(CONFIDENCE_LEVELS[:-1]))
def test_every_other_entry_is_the_rounded_quantile(df: int, level: float):
    assert t_quantile(df, level) == round(float(stats.t.ppf(0.5 + level / 200, df)), 3)


@pytest.mark.parametrize("confidence", [0, 94.9, 99.9, 100, NAN])
def test_a_confidence_that_ministat_has_not_is_refused(confidence: float):
    with pytest.raises(UsageError, match=r"use one of 80, 90, 95, 98, 99, 99\.5"):
        compare(OLD, NEW, confidence=confidence)


def test_comparison_of_a_published_pair():
    result = compare(OLD, NEW)
    assert (result.difference, result.df, result.t_quantile) == (-58083, 8, 2.306)
    assert f"{result.error:g} {result.pooled_stddev:g}" == "350.691 240.456"
    assert f"{result.difference_percent:g}" == "-38.0171"
    assert result.significant


def test_relative_error_counts_the_noise_of_the_reference_with_the_square_of_the_ratio():
    reference, other = [90.0, 100, 110], [40.0, 50, 60]
    # Both variances are 100: sqrt((2*100 + 2*100*(50/100)^2) * 6/(3*3*4)) standard errors.
    expected = 2.776 * math.sqrt(250 / 6)
    assert compare(reference, other).error_percent == pytest.approx(expected)


def test_pooled_deviation_weighs_each_variance_by_its_degrees_of_freedom():
    reference = [1.0, 2, 3]  # variance 1, 2 degrees of freedom
    other = [10.0, 20, 30, 40, 50]  # variance 250, 4 degrees of freedom
    assert compare(reference, other).pooled_stddev == pytest.approx(math.sqrt(1002 / 6))


def test_a_difference_equal_to_its_error_is_not_significant():
    # Variance 0 makes the error exactly 0; so does the same mean the difference.
    assert not compare([5, 5, 5], [5, 5, 5]).significant
    assert compare([5, 5, 5], [7, 7, 7]).significant


def test_constants_differ_without_a_doubt():
    result = compare([5, 5, 5], [7, 7, 7])
    assert (result.difference, result.error, result.pooled_stddev) == (2, 0, 0)
    assert (result.difference_percent, result.error_percent) == (40, 0)
    assert result.p_value == 0


def test_nothing_is_significant_beside_a_nan():
    result = compare([1, NAN, 3], [100, 101, 102])
    assert not result.significant
    assert math.isnan(result.p_value)


def test_percentages_of_a_reference_of_zero_do_not_crash():
    constant = compare([0, 0, 0], [1, 2, 3])
    assert constant.difference_percent == math.inf
    assert math.isnan(constant.error_percent)
    assert compare([-1, 0, 1], [-3, -2, -1]).difference_percent == -math.inf


def test_a_negative_reference_has_a_negative_relative_error():
    result = compare([-10, -11, -12], [-20, -21, -22])
    assert result.difference < 0 < result.difference_percent
    assert result.error_percent < 0 < result.error


def test_ministat_steps_to_the_normal_quantile_beyond_100_degrees_of_freedom():
    values = [float(k % 7) for k in range(51)]
    assert compare(values, values).t_quantile == 1.984
    assert compare(values, [*values, 3.0]).t_quantile == 1.960


def test_a_large_sample_is_compared_like_a_small_one():
    reference = [100.0 + k % 10 for k in range(1000)]
    result = compare(reference, [value + 1 for value in reference], confidence=99)
    deviation = np.std(reference, ddof=1)
    assert result.error == pytest.approx(2.576 * deviation * math.sqrt(2 / 1000))
    assert result.significant


@given(samples.filter(varies), samples.filter(varies))
def test_p_value_is_that_of_the_pooled_t_test(reference: list[float], other: list[float]):
    expected = stats.ttest_ind(other, reference, equal_var=True).pvalue
    assert compare(reference, other).p_value == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(samples, samples, levels)
def test_swapping_the_samples_flips_the_sign_alone(a: list[float], b: list[float], level: float):
    there, back = compare(a, b, confidence=level), compare(b, a, confidence=level)
    assert there.difference == -back.difference
    assert (there.error, there.p_value, there.significant) == (
        back.error,
        back.p_value,
        back.significant,
    )


@given(samples, samples, st.integers(-20, 20))
def test_the_unit_changes_no_verdict(a: list[float], b: list[float], exponent: int):
    unit = 2.0**exponent  # a power of two is exact
    result = compare(a, b)
    scaled = compare([v * unit for v in a], [v * unit for v in b])
    assert scaled.difference == result.difference * unit
    assert scaled.error == result.error * unit
    assert (scaled.significant, scaled.p_value) == (result.significant, result.p_value)
    assert str(scaled.difference_percent) == str(result.difference_percent)
    assert str(scaled.error_percent) == str(result.error_percent)


@given(samples, samples, st.integers(-(10**6), 10**6))
def test_a_common_shift_changes_no_difference(a: list[float], b: list[float], shift: int):
    result = compare(a, b)
    shifted = compare([v + shift for v in a], [v + shift for v in b])
    assert shifted.difference == pytest.approx(result.difference, rel=1e-9, abs=1e-6)
    assert shifted.error == pytest.approx(result.error, rel=1e-9, abs=1e-6)


@given(samples, samples)
def test_a_higher_confidence_never_proves_more(a: list[float], b: list[float]):
    verdicts = [compare(a, b, confidence=level).significant for level in CONFIDENCE_LEVELS]
    assert verdicts == sorted(verdicts, reverse=True)


@given(st.data())
def test_no_sample_of_three_crashes(data: st.DataObject):
    values = st.floats(-1e100, 1e100) | st.just(NAN)
    anything = st.lists(values, min_size=3, max_size=9)
    result = compare(data.draw(anything), data.draw(anything), confidence=data.draw(levels))
    assert result.significant == (abs(result.difference) > result.error)


def test_summaries_are_enough_for_a_comparison():
    assert compare_summaries(summarize(OLD), summarize(NEW), confidence=99) == compare(
        OLD, NEW, confidence=99
    )


def test_a_sound_comparison_has_no_warning():
    assert compare([100, 101, 102, 103, 104], [200, 201, 202, 203, 204]).warnings == ()


@pytest.mark.parametrize(
    ("reference", "other", "confidence", "warning"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4, 5], 95, "the reference sample has only 4 iterations"),
        ([1, 2, 3, 4, 5], [1, 2, 3], 95, "the other sample has only 3 iterations"),
        ([1, 2, 3, 4, 5], [7] * 5, 95, "iterations of the other sample gave the same value"),
        ([10000, 10001, 10002, 10001, 10000], [1, 2, 3, 4, 5], 95, "the line rate may hide"),
        ([-2, -1, 0, 1, 2], [1, 2, 3, 4, 5], 95, "the mean of the reference is 0"),
        ([1, 2, 3, 4, 5], [1, 2, NAN, 4, 5], 95, "the other sample holds a value that is not"),
        ([1, 2, 3, 4, 5], [2, 3, 4, 5, 6], 99.5, "99.5 % is in truth for 99.8 %"),
    ],
)
def test_a_doubtful_comparison_has_its_warning(
    reference: Sequence[float], other: Sequence[float], confidence: float, warning: str
):
    (said,) = compare(reference, other, confidence=confidence).warnings
    assert warning in said
