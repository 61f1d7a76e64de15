"""Student's t exactly as FreeBSD's ministat(1) computes it, and Holm's correction.

The arithmetic keeps ministat's order of operations (IEEE double, no fused multiply-add), so that
the printed digits agree to the last. It follows the formulas since November 2016: two-pass
variance, and a relative error that allows for the noise of the reference.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import add

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Count, Figure
from buildbot_bench.core.legible import quoted


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values of m tests, each corrected so that all together err as one would; same order.

    To call significant what is below alpha is wrong anywhere among true null hypotheses with a
    probability of at most alpha, however the tests depend on each other. The i-th smallest is
    multiplied by m - i + 1, is no less than a smaller one's, and at most 1: S. Holm, "A simple
    sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    ascending = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(ascending):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = least
    return tuple(corrected)


CONFIDENCE_LEVELS = (80.0, 90.0, 95.0, 98.0, 99.0, 99.5)
MIN_VALUES = 3
MAX_MAGNITUDE = 1e100  # ministat crashes on infinity and a little above this

_LAST_DF = 100  # beyond it ministat takes the normal distribution
_FEW_ITERATIONS = 5
LINE_RATE = "the line rate may hide what the code can do"
"""The end of a warning that holds for packets alone."""
_SATURATED_CV = 0.0005  # at line rate the published series repeat to 0.03 % or better
# ministat's column "99.5" is in truth the two-sided 99.8 % quantile, with these odd entries.
_MISLABELLED = 99.5
_MISLABELLED_TRUTH = 99.8
_ODD_ENTRIES = {1: 318.313, 7: 4.782, 8: 4.499, 9: 4.296, 10: 4.143, 11: 4.024, 12: 3.929}


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """The figures of one sample, in the unit of its values; `variance` divides by n-1."""

    n: Count
    minimum: Figure
    maximum: Figure
    median: Figure
    mean: Figure
    variance: Figure
    stddev: Figure

    @property
    def population_stddev(self) -> float:
        """The standard deviation when the values are the whole population: divides by n."""
        return self.stddev * math.sqrt((self.n - 1) / self.n)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Student's t of a sample against the reference, both taken to have one common variance.

    `difference` is other - reference: positive when the other is larger; `error` is the half
    width of its interval at `confidence` percent. The `_percent` pair is relative to the
    reference's mean: infinite or NaN when that is 0, and the error is negative when it is
    negative, as ministat has it. `t_quantile` is ministat's own, rounded to 3 decimals;
    `p_value` is exact and two-sided. `significant` is ministat's verdict: |difference| > error.
    `warnings` say what a reader should doubt.
    """

    reference: Summary
    other: Summary
    confidence: float
    difference: Figure
    error: Figure
    difference_percent: Figure
    error_percent: Figure
    pooled_stddev: Figure
    t_quantile: float
    df: Count
    p_value: Figure
    significant: bool
    warnings: tuple[str, ...]

    @property
    def relative(self) -> tuple[float, float, float] | None:
        """The difference and its interval as fractions of the reference's mean, None if it is 0."""
        difference, error = self.difference_percent / 100, abs(self.error_percent) / 100
        if not math.isfinite(difference) or not math.isfinite(error):
            return None
        return difference, difference - error, difference + error


def summarize(values: Sequence[float]) -> Summary:
    """Summarize a sample of at least 3 values, in the order in which they were measured.

    UsageError for fewer, for infinite ones and beyond 1e100. NaN is let through, as by ministat.
    """
    numbers = [float(value) for value in values]
    _check(numbers)
    n = len(numbers)
    mean = _sum(numbers) / n
    ordered = sorted(numbers, key=lambda number: (math.isnan(number), number))
    middle = n // 2
    median = ordered[middle] if n % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    variance = _sum((y - mean) * (y - mean) for y in ordered) / (n - 1)
    return Summary(
        n=n,
        minimum=ordered[0],
        maximum=ordered[-1],
        median=median,
        mean=mean,
        variance=variance,
        stddev=math.sqrt(variance),
    )


def compare(
    reference: Sequence[float], other: Sequence[float], *, confidence: float = 95.0
) -> Comparison:
    """Compare the values of a sample with those of the reference.

    UsageError for a `confidence` (percent) not of CONFIDENCE_LEVELS, and as `summarize`.
    """
    return compare_summaries(summarize(reference), summarize(other), confidence=confidence)


def compare_if_enough(
    reference: Sequence[float], other: Sequence[float], *, confidence: float = 95.0
) -> Comparison | None:
    """Return what `compare` does; None if one of them has fewer than MIN_VALUES values."""
    if min(len(reference), len(other)) < MIN_VALUES:
        return None
    return compare(reference, other, confidence=confidence)


def compare_summaries(
    reference: Summary, other: Summary, *, confidence: float = 95.0
) -> Comparison:
    """Compare two samples by their summaries alone; see `compare`."""
    df = reference.n + other.n - 2
    quantile = t_quantile(df, confidence)
    within = (other.n - 1) * other.variance + (reference.n - 1) * reference.variance
    pooled = math.sqrt(within / df)
    scale = math.sqrt(1 / other.n + 1 / reference.n)
    difference = other.mean - reference.mean
    error = quantile * pooled * scale
    relative = quantile * _relative_spread(reference, other)
    return Comparison(
        reference=reference,
        other=other,
        confidence=confidence,
        difference=difference,
        error=error,
        difference_percent=_divide(difference * 100, reference.mean),
        error_percent=_divide(relative * 100, reference.mean),
        pooled_stddev=pooled,
        t_quantile=quantile,
        df=df,
        p_value=_p_value(difference, pooled * scale, df),
        significant=abs(difference) > error,
        warnings=tuple(_warnings(reference, other, confidence)),
    )


def t_quantile(df: int, confidence: float) -> float:
    """Student's two-sided quantile as ministat's table has it, rounded to 3 decimals.

    Above 100 degrees of freedom it is the normal one: a step at 101. The column 99.5 is stricter
    than it says (99.8 %); a verdict of our own should not use it.
    """
    if confidence not in CONFIDENCE_LEVELS:
        known = ", ".join(f"{level:g}" for level in CONFIDENCE_LEVELS)
        raise UsageError(
            f"no table of Student's t for confidence {quoted(confidence)} %",
            hint=f"use one of {known}",
        )
    return _table_entry(df if df <= _LAST_DF else 0, float(confidence))


@cache
def _table_entry(df: int, confidence: float) -> float:
    """One entry of the table; row 0 is for infinitely many degrees of freedom."""
    truth = confidence
    if confidence == _MISLABELLED:
        if df in _ODD_ENTRIES:
            return _ODD_ENTRIES[df]
        truth = _MISLABELLED_TRUTH
    from scipy import special  # noqa: PLC0415 - it takes longer than a command's --help may

    below = 0.5 + truth / 200
    return round(float(special.stdtrit(df, below) if df else special.ndtri(below)), 3)


def _relative_spread(reference: Summary, other: Summary) -> float:
    """The standard error of the ratio of the means, times the reference's mean.

    First-order propagation: the reference's variance counts with the square of the ratio.
    """
    n, m = other.n, reference.n
    ratio = (m - 1) * reference.variance * (other.mean * other.mean)
    within = (n - 1) * other.variance + _divide(ratio, reference.mean * reference.mean)
    return math.sqrt(within * ((n + m) / (n * m * (n + m - 2.0))))


def _p_value(difference: float, standard_error: float, df: int) -> float:
    if difference == 0:
        return 1.0  # also when nothing varies at all: 0 / 0
    from scipy import special  # noqa: PLC0415 - as above

    return 2 * float(special.stdtr(df, -abs(_divide(difference, standard_error))))


def _check(numbers: Sequence[float]) -> None:
    if len(numbers) < MIN_VALUES:
        raise UsageError(
            f"a sample of {len(numbers)} values cannot be summarized",
            hint=f"measure at least {MIN_VALUES} iterations",
        )
    for ordinal, number in enumerate(numbers, start=1):
        if abs(number) > MAX_MAGNITUDE:
            raise UsageError(
                f"value {ordinal} of a sample is {number:g}, beyond {MAX_MAGNITUDE:g}",
                hint="no measurement is that large: look where it came from",
            )


def _sum(numbers: Iterable[float]) -> float:
    """Add from left to right, as C does; sum() compensates for rounding since Python 3.12."""
    return reduce(add, numbers, 0.0)


def _divide(numerator: float, denominator: float) -> float:
    """IEEE 754 division: by zero it gives an infinity or NaN instead of an exception."""
    if denominator != 0:
        return numerator / denominator
    if numerator == 0 or math.isnan(numerator):
        return math.nan
    return math.copysign(math.inf, numerator) * math.copysign(1, denominator)


def _warnings(reference: Summary, other: Summary, confidence: float) -> Iterable[str]:
    for role, summary in (("reference", reference), ("other", other)):
        if math.isnan(summary.mean):
            yield f"the {role} sample holds a value that is not a number"
        if summary.n < _FEW_ITERATIONS:
            yield (
                f"the {role} sample has only {summary.n} iterations: "
                f"{_FEW_ITERATIONS} or more are needed to trust its spread"
            )
        if summary.stddev == 0:
            yield f"all iterations of the {role} sample gave the same value: its noise is unknown"
        elif summary.stddev < _SATURATED_CV * abs(summary.mean):
            yield f"the {role} sample hardly varies: {LINE_RATE}"
    if reference.mean == 0:
        yield "the mean of the reference is 0: percentages mean nothing"
    if confidence == _MISLABELLED:
        yield f"ministat's table for {_MISLABELLED} % is in truth for {_MISLABELLED_TRUTH} %"
