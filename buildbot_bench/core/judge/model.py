"""The judge's policy, verdicts and settled changes as frozen dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.ministat import Comparison
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.thresholds import is_change

Direction = Literal["regression", "improvement"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgePolicy:
    """What counts as a change, and how many false alarms are bearable.

    `confidence` (percent, one of ministat's) is for the t-tests that are printed, `min_effect`
    the smallest change, as a fraction, that somebody wants to hear of. `false_alarms_per_1000`
    commits is shared by `series` many (testbed, workload), of which `together` raise an alarm at
    one commit (the module `together`). A suspicion is measured again from evidence `worth_boots`
    on: with 1 a change is as likely as at any other commit. An alarm stands on `fresh` boots of
    each side, measured after the suspicion arose. `images` is False when no second image of a
    revision can be made. `higher_is_better` None: as the sample's metric says. `corroborated`:
    in which directions the same workload on another testbed raised an alarm for some of the same
    commits; only a change in one of them needs less evidence. (Not another workload of this
    testbed: that boots the same image, whose layout may slow both.) `item` is what reasons are
    about; it decides nothing.
    """

    confidence: float = 95.0
    min_effect: float = 0.02
    higher_is_better: bool | None = None
    false_alarms_per_1000: float = 1.0
    series: int = 3
    together: int = 1
    fresh: int = 5
    worth_boots: float = 1.0
    images: bool = True
    corroborated: frozenset[Direction] = frozenset()
    item: ItemUnderTest = ItemUnderTest.KERNEL

    def __post_init__(self) -> None:
        """Refuse what would divide by zero."""
        if not 0 < self.min_effect < 1:
            raise UsageError(
                f"min_effect is {self.min_effect}", hint="give a fraction, 0.02 for two percent"
            )
        if min(self.false_alarms_per_1000, self.series, self.together, self.fresh) <= 0:
            raise UsageError(
                f"false_alarms_per_1000 is {self.false_alarms_per_1000}, series {self.series}, "
                f"together {self.together}, fresh {self.fresh}",
                hint="each must be above zero",
            )

    @property
    def evidence_needed(self) -> float:
        """By how much the evidence must favour a change: one judgement in so many may err.

        A change seen elsewhere is as likely as not here, instead of once in 200 commits; a
        caller that weighs one keeps its own direction alone (`towards`).
        """
        needed = 1000.0 * self.series / (self.together * self.false_alarms_per_1000)
        return max(needed * constants.CHANGES_PER_COMMIT, 1.0) if self.corroborated else needed

    def towards(self, direction: Direction) -> JudgePolicy:
        """The policy for a change in that direction: an alarm in the other speaks for none."""
        return replace(self, corroborated=self.corroborated & {direction})


class Said(StrEnum):
    """What somebody says that a change was."""

    EXPECTED = "expected"
    NOISE = "noise"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """A change that was dealt with when `judged`, a position, was new.

    It was an alarm, or fresh boots of both sides denied it: then the lab stands elsewhere since.
    `began` is the first position at the new level. `said` is what `author` says that it was; None
    where nobody says anything. `small`: it was below min_effect, and no alarm; what came before it
    is compared with as ever, so that several of them add up.
    """

    began: int
    judged: int
    said: Said | None = None
    author: str = ""
    small: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Remeasure:
    """Run `iterations` more boots of build `image` of `position`."""

    position: int
    image: int
    iterations: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Nothing:
    """No change that is worth a mail, as far as can be known.

    `began` is the first position since which the lab stands elsewhere, when fresh boots of both
    sides denied a change of the code there, showed one below min_effect, or somebody marked it as
    noise; else None. `effect` is the change, a fraction, of the latter two.
    """

    comparison: Comparison | None
    reason: str
    began: int | None = None
    effect: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unfit:
    """The samples cannot tell: saturated, too noisy, or of another epoch."""

    comparison: Comparison | None
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspicion:
    """There may be a change: measure `remeasure`, then judge again.

    `anchor` is a position before the suspected change, `first` the earliest at which that may have
    come. `effect` is relative to the level there, with its 95 % interval low..high; `probability`
    is that of a change, by the model.
    """

    comparison: Comparison | None
    reason: str
    anchor: int
    first: int
    effect: float
    low: float
    high: float
    probability: float
    remeasure: tuple[Remeasure, ...]

    @property
    def iterations(self) -> int:
        """What the answer costs: boots."""
        return sum(request.iterations for request in self.remeasure)


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """The level changed somewhere in (anchor, position of the new sample].

    `first` is the earliest position at which the change may have come, `began` the likeliest;
    other fields as those of `Suspicion`.
    """

    comparison: Comparison | None
    reason: str
    anchor: int
    effect: float
    low: float
    high: float
    probability: float
    direction: Direction
    first: int
    began: int


Verdict = Nothing | Suspicion | Alarm | Unfit


def settled_by(verdict: Verdict, judged: int, min_effect: float) -> Settled | None:
    """What a verdict on the position `judged` settles, before anybody says something of it."""
    if not isinstance(verdict, Alarm | Nothing) or verdict.began is None:
        return None
    small = isinstance(verdict, Nothing) and is_small(verdict.effect, min_effect)
    return Settled(began=verdict.began, judged=judged, small=small)


def is_small(effect: float | None, min_effect: float) -> bool:
    """Whether a change that is no alarm is below min_effect; one marked as noise may be larger."""
    return effect is not None and not is_change(effect, min_effect)
