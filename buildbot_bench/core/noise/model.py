"""What is known of the noise of a testbed and workload; it is learnt elsewhere.

The model: ln(value) = level + b(image) + e(boot), with b ~ N(0, sigma_build²) and
e ~ N(0, sigma_run²). In logarithms a spread is a fraction of the level, whatever the unit.
"""

from __future__ import annotations

from dataclasses import dataclass

MIN_SIGMA = 1e-6  # what no measurement undercuts: counters have six digits or so


@dataclass(frozen=True, kw_only=True, slots=True)
class Prior:
    """What is assumed of a testbed that was never seen.

    `sigma_run` and `sigma_build` are fractions of the level. They pull an estimate as `weight`
    observations would; `tail_df` are the degrees of freedom that they have by themselves: how
    sure it is that an unknown testbed resembles the known ones.
    """

    sigma_run: float
    sigma_build: float
    weight: float = 2.0
    tail_df: float = 8.0


ARCHIVE = Prior(sigma_run=0.008, sigma_build=0.016)
"""The netbenches archive: boots of one image vary by 0.8 % in the median; neighbours of its seven
year series by 0.9, 1.3, 1.7, 1.8, 2.2, 3.0 and 4.7 %, of which boots explain little."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bimodal:
    """Boots fall into two modes: how far apart (fraction of the level), and the lower's share."""

    separation: float
    low_share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The noise of one testbed and workload; sigmas are fractions of the level.

    `df_run` and `df_build` say how well the sigmas are known, as degrees of freedom of a
    variance. `bimodal` is None when boots have one mode; else sigma_run holds both modes.
    `saturated`: the line rate limits what is measured. `assumed` says, a sentence each, what was
    assumed for want of history.
    """

    sigma_run: float
    sigma_build: float
    df_run: float
    df_build: float
    bimodal: Bimodal | None = None
    saturated: bool = False
    assumed: tuple[str, ...] = ()


COUNTED = Prior(sigma_run=0.0002, sigma_build=MIN_SIGMA)
"""A metric that is counted: boots of FreeBSD 13.1 differ by nothing to .04 %, by work that no
packet asked for; kernels without a clock not at all. Layout moves no instruction: images of
unchanged code count the same."""

KNOWN_DF = 1e12
"""The degrees of freedom of what is taken for known. With few, thousands of standard deviations
weigh no more than dozens."""
