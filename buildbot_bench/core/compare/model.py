"""The report of a comparison as frozen dataclasses, with all text cleaned by `one_line`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import Count, Figure, Share, in_json
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.ministat import Comparison
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.report.model import Side
from buildbot_bench.core.sample import Metric


class Verdict(StrEnum):
    """What the model of noise says of one variant beside the base: see `compare.verdict`."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    WITHIN_LUCK = "within the luck of layout"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class BeyondLuck:
    """The difference by the model of noise: a fraction of the base, and its interval.

    They are null where there are too few values. `said` is the verdict in words. `separated`: luck
    with the layout of a single image does not explain it.
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
    should know, such as what is left out. `noise` is what the series' history tells, None if it
    tells nothing.

    `kernels` are the variants' first images, by any number, empty where each has its own. `booted`
    says of each value which image of its variant gave it, empty where all are of the first ones.
    `single` says of each variant why it has no further images, '' where it may have some; empty:
    none may, and nobody says why.

    `recorded` says of each variant how its boots were dealt from a recording: further ones cannot
    be made, and the history of what was recorded, here and there, tells nothing. Empty: they were
    booted. `item` is what is measured. `times` are what the clocks say of each variant's runs.
    """

    testbed: str
    workload: str
    metric: Metric
    values: tuple[tuple[float, ...], ...]
    kernels: tuple[int, ...] = ()
    booted: tuple[tuple[int, ...], ...] = ()
    single: tuple[str, ...] = ()
    noise: Noise | None = None
    order: tuple[int, ...] = ()
    epoch: str = ""
    facts: Mapping[str, str] = field(default_factory=dict, hash=False)
    flame_graphs: Mapping[int, FlameGraphs] = field(default_factory=dict, hash=False)
    note: str = ""
    recorded: tuple[str, ...] = ()
    item: ItemUnderTest = ItemUnderTest.KERNEL
    times: tuple[tuple[RunTimes, ...], ...] = ()

    @property
    def resolution(self) -> float:
        """The smallest difference of values, in their unit, as the clocks say; 0 if they do not."""
        return max((one.step for own in self.times for one in own), default=0.0)

    def by_image(self, variant: int) -> dict[int, list[float]]:
        """The values of one variant by the image that gave them, in the order measured."""
        values = self.values[variant]
        images = self.booted[variant] if self.booted else (0,) * len(values)
        found: dict[int, list[float]] = {}
        for image, value in zip(images, values, strict=True):
            found.setdefault(image, []).append(value)
        return dict(sorted(found.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredImage:
    """What one image of a variant gave: `level` is the mean of its boots, in the metric's unit.

    Image 0 is linked as usual, each further one in another order.
    """

    image: Count
    boots: Count
    level: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantChange:
    """One new variant held against the base on one testbed and workload.

    `effect` and its interval `low` to `high` are fractions of the base's mean; null where there are
    too few values, and where a base of 0 leaves them without meaning. `p_value` is Student's t's,
    exact and two-sided, and decides nothing. `p_corrected` is that of the model of noise, which
    holds at every look, corrected by Holm for all of the comparison; null where nothing can be
    decided.
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
        return self._relative[0]

    @property
    @in_json
    def low(self) -> Figure | None:
        """The interval's lower end."""
        return self._relative[1]

    @property
    @in_json
    def high(self) -> Figure | None:
        """The interval's upper end."""
        return self._relative[2]

    @property
    @in_json
    def p_value(self) -> Figure | None:
        """How likely chance alone is to give such a difference."""
        return None if self.comparison is None else self.comparison.p_value

    @property
    def _relative(self) -> tuple[float, float, float] | tuple[None, None, None]:
        return (self.comparison and self.comparison.relative) or (None, None, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleEffect:
    """What a level of a factor does beside its first one, while the others stay `at` theirs.

    Fractions: the effect, and its interval of the comparison's confidence.
    """

    factor: str
    level: str
    beside: str
    at: Mapping[str, str]
    effect: Figure
    low: Figure
    high: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Interaction:
    """How an effect of one factor changes with another one: the ratio of the two effects less 1."""

    factors: tuple[str, str]
    levels: tuple[str, str]
    ratio: Figure
    low: Figure
    high: Figure

    @property
    @in_json
    def is_there(self) -> bool:
        """Whether chance alone does not explain it."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FactorAnswer:
    """What factors do on one testbed and workload, in `sentences` and in figures.

    `main` are the effects of levels, averaged over the cells of the other factors, in logs; `at` is
    empty there. `best` is the best cell of those measured. `missing` are cells without a value;
    what needs them is left out. `images` is the least number of images of any kernel. `method` says
    how the figures come about, and what they leave open.
    """

    factors: Mapping[str, tuple[str, ...]]
    main: tuple[SimpleEffect, ...]
    simple: tuple[SimpleEffect, ...]
    interactions: tuple[Interaction, ...]
    best: Mapping[str, str]
    missing: tuple[str, ...]
    images: Count
    sentences: tuple[str, ...]
    method: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesReport:
    """All variants on one testbed and workload, each new one held against the base.

    `samples` are those of all variants, the base's first; `changes` those of the new ones, in the
    same order. `images` are those of each variant that were booted, the base's first; `samples` and
    `ministat` pool their boots. `ministat` are blocks of at most seven data sets, each beginning
    with the base's.
    `notes` say what a reader should doubt. `epoch` is the lab's, when all this was measured.
    `factors` is there where the labels name cells of factors.
    """

    testbed: str
    workload: str
    metric: Metric
    epoch: str
    samples: tuple[Side, ...]
    images: tuple[tuple[MeasuredImage, ...], ...]
    changes: tuple[VariantChange, ...]
    ministat: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Mapping[str, str]
    factors: FactorAnswer | None = None

    @property
    def is_measured(self) -> bool:
        """Whether any of the variants has a value."""
        return any(sample.values for sample in self.samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonReport:
    """All of a comparison; of its two to thirty-two `variants` the base is the first.

    `iterations` are boots of each variant's first image, and the most of each further one; there
    are at most `images` of each variant. `confidence` is in percent, `min_effect` a fraction.
    `order` says how the boots alternate, `drift` what that makes of a drift of the lab, `tests` for
    how many of Student's t the p values are corrected, and `detail` why there is less than was
    asked for, empty when there is all of it. `item` is what is measured on all testbeds, and a
    kernel where that differs.

    Of a suite each value has a series, which its metric names. `left_out` says of each other value
    why it is not compared; it is null where a run yields one value.
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
    images: Count = 1
    detail: str = ""
    farm: str = ""
    url: str = ""
    kind: Literal["comparison"] = "comparison"
    item: ItemUnderTest = ItemUnderTest.KERNEL
    left_out: Mapping[str, str] | None = field(default=None, hash=False)

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
