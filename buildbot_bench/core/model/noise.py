"""The noise of a testbed and workload, and the prior of an unseen testbed.

The model is ln(value) = level + b(image) + e(boot), with e ~ N(0, sigma_run²) and, for most images,
b ~ N(0, sigma_build²); a share `far_share` of the images lies far off (see `image_luck`). In
logarithms a spread is a fraction of the level, for any unit.
"""

from dataclasses import dataclass, field

from buildbot_bench.core.model import constants

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
    weight: float = field(default_factory=lambda: constants.PRIOR_WEIGHT)
    tail_df: float = field(default_factory=lambda: constants.PRIOR_DF)


def archive() -> Prior:
    """What the netbenches archive says of a testbed that was never seen."""
    return Prior(sigma_run=constants.RUN_NOISE, sigma_build=constants.BUILD_NOISE)


def counted() -> Prior:
    """What is assumed of a metric that is counted."""
    return Prior(sigma_run=constants.COUNTED_NOISE, sigma_build=MIN_SIGMA)


ARCHIVE = archive()


@dataclass(frozen=True, kw_only=True, slots=True)
class Bimodal:
    """Boots fall into two modes: how far apart these are, a fraction of the level."""

    separation: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The noise of one testbed and workload; sigmas are fractions of the level.

    `df_run` and `df_build` say how well the sigmas are known, as degrees of freedom of a
    variance. `far_below` is the part of `far_share` that lies below the others; `far_weight` says
    how well both are known, as a number of images (the Beta of `image_luck`). `bimodal` is None
    when boots have one mode; else sigma_run holds both modes.
    `resolution` is the step to which values are rounded, where that matters (0: it does not);
    `rounding` is the part of `sigma_build` that it makes: a bias that boots do not average out.
    `saturated`: the line rate limits what is measured. `assumed` says, a sentence each, what was
    assumed for want of history.
    """

    sigma_run: float
    sigma_build: float
    df_run: float
    df_build: float
    far_share: float = field(default_factory=lambda: constants.FAR_SHARE)
    far_below: float = field(default_factory=lambda: constants.FAR_SHARE / 2)
    far_weight: float = field(default_factory=lambda: constants.TESTBED_FAR_WEIGHT)
    bimodal: Bimodal | None = None
    saturated: bool = False
    resolution: float = 0.0
    rounding: float = 0.0
    assumed: tuple[str, ...] = ()


def wider_build(sigma_build: float, sigma_run: float) -> float:
    """Return the build noise where the assumed `sigma_build` is too small (with WIDER_WEIGHT)."""
    return max(constants.BUILD_WIDER * sigma_build, sigma_run)


KNOWN_DF = 1e12
"""The degrees of freedom of what is taken for known. With few, thousands of standard deviations
weigh no more than dozens."""
