"""The data model of a search over positions 0 (old end) to n (new end)."""

from dataclasses import dataclass

from buildbot_bench.core.model import thresholds

Stretches = tuple[tuple[int, int], ...]  # the first and the last position of each
PREBUILT = -1
"""The image that somebody else built of a position: another kind than the search's own builds."""
_ROUNDING = 1e-9  # 1 - 0.01 and 0.99 differ in the last bit


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One iteration: `value` in the metric's unit, of build `image` of that position.

    `at_s` is when it was measured, in seconds; drift is read from it.
    """

    position: int
    value: float
    image: int = 0
    at_s: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that is known of a range.

    `untestable` positions do not build, boot or pass traffic. `built` positions have an image
    ready to boot. `same_as_previous` positions have a kernel identical to the one before;
    `same_across` positions one identical to the last that is testable, untestable ones between.
    `prebuilt` positions have an image that somebody else built, named PREBUILT in measurements.
    """

    measurements: tuple[Measurement, ...] = ()
    untestable: frozenset[int] = frozenset()
    built: frozenset[int] = frozenset()
    same_as_previous: frozenset[int] = frozenset()
    same_across: frozenset[int] = frozenset()
    prebuilt: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Costs:
    """What a build, a boot and a run take, in seconds, and how many hands there are."""

    build_s: float
    boot_s: float
    run_s: float
    builders: int = 1
    testbeds: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchPolicy:
    """What counts as a change, how sure the answer must be, and what is known beforehand.

    `error` is the accepted probability of a wrong answer. `min_effect`, `claimed` (the signed
    effect that started the search), `sigma_run` and `sigma_build` (standard deviations between
    boots of one image, and between images of unchanged code) are fractions of the level.
    `far_share` is the share of images that lie far beyond the build noise (None: the archive's).
    `weights` is the prior weight of each commit 1..n to be the culprit. `images` is False when no
    second image of a revision can be made; `layout` when the metric does not depend on link order.
    `counted` is True when the metric is exact: a second value confirms the first. `spells` is True
    when runs follow each other on a machine that others use: neighbours in time are then alike.
    `rounding` is the run noise that the rounding of values makes by itself, where it matters.
    """

    error: float = 0.01
    min_effect: float = 0.02
    claimed: float | None = None
    higher_is_better: bool = True
    sigma_run: float | None = None
    sigma_build: float | None = None
    far_share: float | None = None
    max_measurements: int = 2000
    weights: tuple[float, ...] | None = None
    images: bool = True
    layout: bool = True
    counted: bool = False
    spells: bool = False
    rounding: float = 0.0

    @property
    def relevant_effect(self) -> float:
        """The least effect, as a fraction, that the search does not let pass."""
        return thresholds.relevant_effect(self.min_effect, self.claimed)

    @property
    def sought_effect(self) -> float:
        """The least difference of the ends whose absence makes a search "not reproduced"."""
        return thresholds.sought_effect(self.min_effect, self.claimed)

    @property
    def values_that_prove(self) -> int:
        """How many values a side of a step, or an end, has at least when it is proved."""
        return thresholds.values_that_prove(counted=self.counted, spells=self.spells)


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSpeed:
    """A race: a share of the boots reads `depth` (a fraction) off the others.

    `before` and `after` are that share on both sides of a step.
    """

    before: float
    after: float
    depth: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A change of level that lies in (old, new]; new == old + 1 unless untestable between.

    `effect` is relative to the level at `old`, with its interval low..high. `separated` is False
    where one image of a side may owe it to luck with layout and no other image can be made, and
    `proved` where the search ended before both sides had the boots that it takes: such a step is
    suspected, not found. Of what lies between, `believed` stretches were not tried: they are in the
    middle of failures that are contiguous with the certainty of the search. `untried` stretches
    were not tried either, and may be testable. All else between was tried, and is untestable.
    With a `race` the step is one of the share of boots that have another speed, and `effect` that
    on the mean of many boots. `levels` are those that a report states, in the metric's unit.
    """

    old: int
    new: int
    effect: float
    low: float
    high: float
    probability: float
    separated: bool = True
    proved: bool = True
    believed: Stretches = ()
    untried: Stretches = ()
    race: OtherSpeed | None = None
    levels: tuple[float, float] | None = None

    def is_sure(self, error: float) -> bool:
        """Whether it is stated by a search that may be wrong with probability `error`."""
        return self.separated and self.proved and self.probability >= 1 - error - _ROUNDING


@dataclass(frozen=True, kw_only=True, slots=True)
class SlopePart:
    """What the level changed by in (old, new]: `effect` with its 95 % interval low..high."""

    old: int
    new: int
    effect: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Slope:
    """A stretch whose ends differ, though no commit in it changes enough by itself.

    `parts` are the places in it that changed, oldest first.
    """

    whole: SlopePart
    parts: tuple[SlopePart, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class OddImage:
    """An image that reads `effect` off the level of its own code: luck with layout."""

    position: int
    image: int
    effect: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """Run one iteration of build `image` of `position`; build `prefetch` meanwhile."""

    position: int
    image: int
    prefetch: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What may be mailed: the steps found, oldest first; both sides of each are proved.

    No steps with reproduced=False: the ends do not differ. `unresolved` are ranges (old, new] in
    which a step may lie that could not be narrowed down; `slopes` are stretches that changed by
    little at a time; `left_out` is the probability that another step lies elsewhere;
    `odd_images` were not believed. `reason` says in a sentence why it ended.
    """

    steps: tuple[Step, ...]
    reproduced: bool
    unresolved: tuple[tuple[int, int], ...]
    reason: str
    slopes: tuple[Slope, ...] = ()
    left_out: float = 0.0
    odd_images: tuple[OddImage, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A place where a step may lie: in (old, new], with its probability and expected effect."""

    old: int
    new: int
    probability: float
    effect: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What a search will take: the median and the value that nine of ten searches stay below."""

    images: tuple[float, float]
    iterations: tuple[float, float]
    hours: tuple[float, float]
