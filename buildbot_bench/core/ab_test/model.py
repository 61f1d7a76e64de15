"""What a comparison came to, as values; it renders nothing.

All text that comes from elsewhere has gone through `one_line`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from buildbot_bench.core.json_model import Count, Figure, Share, in_json
from buildbot_bench.core.ministat import Comparison
from buildbot_bench.core.model import Noise
from buildbot_bench.core.report import Side
from buildbot_bench.core.sample import Metric


class Verdict(StrEnum):
    """What the model of noise says of one variant beside the base: see `ab_test.verdict`."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    WITHIN_LUCK = "within the luck of layout"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class BeyondLuck:
    """The difference by the model of noise: a fraction of the base, and its interval.

    They are Student's where the verdict is his, and null where there are too few values. `said` is
    the verdict in words. `separated`: luck with the layout of a single image does not explain it.
    """

    effect: Figure | None
    low: Figure | None
    high: Figure | None
    separated: bool
    said: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedVariant:
    """One of the variants: what it is called everywhere, and what it is, as a person writes it."""

    label: str
    variant: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FlameGraphs:
    """Where it is seen where the cycles of base and variant go, and how they differ."""

    base: str
    new: str
    difference: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesValues:
    """What was measured on one testbed and workload, in one epoch; `facts` of the lab.

    `values` are those of each variant, the base's first, in the order measured. `order` is the
    variant of each boot of all together, empty where it is not known. `flame_graphs` are there for
    the variants that were sampled, by their place among `values`. `note` is what else a reader
    should know, such as what is left out. `images` are those of the variants, by any number, empty
    where each has its own; `noise` is what the series' history tells, None if it tells nothing.
    """

    testbed: str
    workload: str
    metric: Metric
    values: tuple[tuple[float, ...], ...]
    images: tuple[int, ...] = ()
    noise: Noise | None = None
    order: tuple[int, ...] = ()
    epoch: str = ""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    flame_graphs: Mapping[int, FlameGraphs] = field(default_factory=dict, hash=False)
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantChange:
    """One new variant held against the base on one testbed and workload.

    `effect` and its interval `low` to `high` are fractions of the base's mean; null where there are
    too few values, and where a base of 0 leaves them without meaning. `p_value` is Student's t's,
    exact and two-sided; `p_corrected` the same, corrected by Holm for all tests of the comparison.
    """

    label: str
    comparison: Comparison | None
    verdict: Verdict
    beyond_luck: BeyondLuck
    p_corrected: Figure | None
    flame_graphs: FlameGraphs | None = None

    @property
    @in_json
    def effect(self) -> Figure | None:
        """By what fraction of the base's mean the variant differs."""
        found = self.comparison
        if found is None or not math.isfinite(found.difference_percent):
            return None
        return found.difference_percent / 100

    @property
    @in_json
    def low(self) -> Figure | None:
        """The interval's lower end."""
        return None if self.effect is None else self.effect - self._error

    @property
    @in_json
    def high(self) -> Figure | None:
        """The interval's upper end."""
        return None if self.effect is None else self.effect + self._error

    @property
    @in_json
    def p_value(self) -> Figure | None:
        """How likely chance alone is to give such a difference."""
        return None if self.comparison is None else self.comparison.p_value

    @property
    def _error(self) -> float:
        return 0.0 if self.comparison is None else abs(self.comparison.error_percent) / 100


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesReport:
    """All variants on one testbed and workload, each new one held against the base.

    `samples` are those of all variants, the base's first; `changes` those of the new ones, in the
    same order. `ministat` are blocks of at most seven data sets, each beginning with the base's.
    `notes` say what a reader should doubt. `epoch` is the lab's, when all this was measured.
    """

    testbed: str
    workload: str
    metric: Metric
    epoch: str
    samples: tuple[Side, ...]
    changes: tuple[VariantChange, ...]
    ministat: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, str]

    @property
    def is_measured(self) -> bool:
        """Whether any of the variants has a value."""
        return any(sample.values for sample in self.samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class AbTestReport:
    """All of a comparison; of its two to sixteen `variants` the base is the first.

    `confidence` is in percent, `min_effect` a fraction. `order` says how the boots alternate,
    `drift` what that makes of a drift of the lab, `tests` for how many of Student's t the p values
    are corrected, and `detail` why there is less than was asked for, empty when there is all of it.
    """

    comparison_id: int
    variants: tuple[ComparedVariant, ...]
    iterations: Count
    confidence: float
    min_effect: Share
    order: str
    drift: str
    tests: Count
    series: tuple[SeriesReport, ...]
    detail: str = ""
    farm: str = ""
    url: str = ""
    kind: Literal["comparison"] = "comparison"

    @property
    @in_json
    def title(self) -> str:
        """The variants in a few words."""
        return title_of([variant.label for variant in self.variants])


def title_of(labels: Sequence[str]) -> str:
    """Two or more variants in a few words; the base's label is the first."""
    base, *others = labels
    new = others[0] if len(others) == 1 else f"{len(others)} variants"
    return f"{new} against {base}"
