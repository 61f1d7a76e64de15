"""What several factors do on one testbed and workload, as a report has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from buildbot_bench.core.json_model import Count, Figure, in_json


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
