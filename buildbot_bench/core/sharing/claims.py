"""Claims on a testbed, and the weight of each claimant's share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class PersonPriority(StrEnum):
    """What a person says of a request of theirs."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


_FACTOR: Mapping[PersonPriority, float] = MappingProxyType(
    # Chosen: a search of high priority weighs more than an alarm's.
    {PersonPriority.LOW: 0.25, PersonPriority.NORMAL: 1.0, PersonPriority.HIGH: 4.0}
)


class ClaimKind(StrEnum):
    """For what a testbed is wanted, in words for people."""

    CONTROL = "control images"
    BY_HAND = "boots that a person asked for"
    ALARMS = "alarms"
    SEARCHES = "searches"
    COMMITS = "commits"
    COMPARISONS = "comparisons"
    IDLE = "what waits until nothing else does"


# Control images take a few boots a day, and tell whether any other boot is to be believed; boots by
# hand are of those who control the farm. Chosen: twice what alarms weigh.
_FIRST = 16.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    """What share each has that wants the same testbed, against the others.

    `searches` and `comparisons` are each person's own, `alarms` those of all alarms' searches and
    confirmations together. Chosen: an alarm is worth twice a person's search, and per-commit
    measuring, from which alarms come, as much as that; a comparison, which is in less of a hurry,
    half of it.
    """

    alarms: float = 8.0
    searches: float = 4.0
    commits: float = 4.0
    comparisons: float = 2.0

    def of(self, kind: ClaimKind) -> float:
        """That of a kind; 0 of what waits until nothing else does."""
        match kind:
            case ClaimKind.CONTROL | ClaimKind.BY_HAND:
                return _FIRST
            case ClaimKind.ALARMS:
                return self.alarms
            case ClaimKind.SEARCHES:
                return self.searches
            case ClaimKind.COMMITS:
                return self.commits
            case ClaimKind.COMPARISONS:
                return self.comparisons
            case ClaimKind.IDLE:
                return 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """On whose account something is measured.

    `person` is empty for what nobody asked for, or nobody knows who did.
    """

    kind: ClaimKind
    person: str = ""
    priority: PersonPriority = PersonPriority.NORMAL

    @property
    def claimant(self) -> str:
        """The name of the account: `commits`, `searches of ann`."""
        return f"{self.kind} of {self.person}" if self.person else str(self.kind)

    def weight(self, weights: Weights) -> float:
        """The share of this request."""
        return weights.of(self.kind) * _FACTOR[self.priority]
