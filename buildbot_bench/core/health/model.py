"""The data model of control charts: rounds, spread, policy, points and signals."""

import math
from dataclasses import dataclass
from enum import StrEnum

from buildbot_bench.core.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One measurement of the control image, ended at `at_s`: a value a boot, or why none."""

    at_s: float
    values: tuple[float, ...] = ()
    failure: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """When a testbed was known to be faulty: after `since_s`, up to `until_s`; None: still."""

    since_s: float
    until_s: float | None = None

    def holds(self, at_s: float) -> bool:
        """Whether a moment lies in it."""
        return self.since_s < at_s and (self.until_s is None or at_s <= self.until_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundSpread:
    """How far rounds stray by themselves, as fractions of the level.

    A round of n boots has the variance between² + boot²/n: `between` is what changes from day to
    day, as the temperature does. (Images play no part: it is always the same one.) `df` says how
    well that is known, as degrees of freedom.
    """

    boot: float
    between: float
    df: float

    def variance(self, boots: int) -> float:
        """That of the mean of so many boots of one round."""
        return self.between**2 + self.boot**2 / boots


class Signal(StrEnum):
    """What showed that the testbed is out of control."""

    LEAP = "leap"
    DRIFT = "drift"
    NO_VALUE = "no value"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPolicy:
    """When a chart signals.

    `leap` is in standard deviations of one round, `drift` in those of the moving average whose
    weight of the newest round is `weight`. What is off by less than `tolerance`, a fraction, turns
    no verdict and is no signal. With these defaults a testbed that is well gives a false signal
    once in about 500 rounds: the average alone has that in-control run length (D. C. Montgomery,
    *Introduction to Statistical Quality Control*, table 9.11, lambda 0.20, L 2.962), and a leap
    beyond 4.0, added as J. M. Lucas and M. S. Saccucci advise (*Exponentially weighted moving
    average control schemes*, Technometrics 32, 1990), comes once in 16000.
    """

    tolerance: float = 0.01
    weight: float = 0.2
    drift: float = 2.962
    leap: float = 4.0

    def __post_init__(self) -> None:
        """Refuse what would never signal, or always."""
        if not (
            0 <= self.tolerance < 1 and 0 < self.weight <= 1 and min(self.drift, self.leap) > 0
        ):
            raise UsageError(
                f"tolerance {self.tolerance}, weight {self.weight}, drift {self.drift}, "
                f"leap {self.leap} make no control chart",
                hint="tolerance is a fraction, weight lies in (0, 1], the limits are above 0",
            )

    @property
    def average_limit(self) -> float:
        """How far the average of scores may stray from 0."""
        return self.drift * math.sqrt(self.weight / (2 - self.weight))


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One round in the chart.

    `deviation` is that of its level from the mean of the good rounds before it, `sigma` the
    standard deviation of that, `average` the moving average of deviations, `limit` how far a single
    round may stray: all fractions. Without a value, `deviation` is None. `excluded`: it lies in a
    time in which the testbed was known to be faulty.
    """

    round: Round
    deviation: float | None
    sigma: float
    average: float
    limit: float
    excluded: bool
    signal: Signal | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """All rounds of one control image on one testbed, workload and epoch, oldest first.

    `reference` is the level of the good rounds in the unit of their values, None before the first;
    `average_limit` how far the moving average may stray, a fraction.
    """

    points: tuple[Point, ...]
    reference: float | None
    average_limit: float
    spread: RoundSpread

    @property
    def newest(self) -> Point | None:
        """The point of the last round."""
        return self.points[-1] if self.points else None

    @property
    def good(self) -> tuple[Point, ...]:
        """The points that were in control."""
        return tuple(
            point
            for point in self.points
            if point.signal is None and not point.excluded and point.deviation is not None
        )
