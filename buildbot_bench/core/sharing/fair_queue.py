"""Start-time fair queueing of the demands for a testbed, by the weights of claimants' shares.

Goyal, Vin, Cheng: Start-Time Fair Queueing, SIGCOMM 1996, a form of the weighted fair queueing of
Demers, Keshav, Shenker (SIGCOMM 1989) that needs no clock. Each service gets a span of virtual
time, as long as its duration divided by its weight, behind the span of the same claimant's service
before; the span that begins the earliest is next. A claimant without demands saves nothing up: its
next span begins where the last served one began.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """Something that may be served now.

    Attributes:
        number: Tells demands apart; of equal ones the lower number is served first.
        claimant: Whose share it is served from.
        weight: How large that share is against others'. With 0 it is served when nothing else is
            wanted, and counts for nothing.
        cost_s: How long it takes, in seconds.
        rank: Of one claimant's demands the highest is served first.
    """

    number: int
    claimant: str
    weight: float
    cost_s: float
    rank: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """The span of virtual time, in seconds by a weight of 1, that a claimant was served last."""

    start: float
    finish: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A demand and the span that it is served in; None: it is served out of turn."""

    demand: Demand
    span: Served | None


def turns(demands: Iterable[Demand], served: Mapping[str, Served]) -> Iterator[Turn]:
    """The demands in the order in which they are served if no others come.

    `served` holds the last span of each claimant that was ever served. The order stays the same
    when the first turn is taken, its span kept, and the rest asked for again.
    """
    queues: dict[str, deque[Demand]] = defaultdict(deque)
    idle: list[Demand] = []
    for demand in sorted(demands, key=lambda one: (-one.rank, one.number)):
        if demand.weight > 0:
            queues[demand.claimant].append(demand)
        else:
            idle.append(demand)
    now = max((span.start for span in served.values()), default=0.0)
    heads: list[tuple[float, float, int, str]] = []
    for claimant, queue in queues.items():
        last = served.get(claimant)
        start = now if last is None else max(now, last.finish)
        heappush(heads, (start, -queue[0].weight, queue[0].number, claimant))
    while heads:
        start, _, _, claimant = heappop(heads)
        queue = queues[claimant]
        demand = queue.popleft()
        finish = start + demand.cost_s / demand.weight
        yield Turn(demand=demand, span=Served(start=start, finish=finish))
        if queue:
            heappush(heads, (finish, -queue[0].weight, queue[0].number, claimant))
    for demand in idle:
        yield Turn(demand=demand, span=None)


def waits_at_most_s(weight: float, cost_s: float, others: Collection[tuple[float, float]]) -> float:
    """How long a claimant waits at most between two services of its own, in seconds.

    `others` are the weights and costs of the other claimants, of each the largest; `cost_s` is what
    the claimant's own services take. While its span of cost_s / weight passes, each of the others
    is served for its weight's part of it, and for one service more (Goyal et al., theorem 1).
    """
    return sum(other * cost_s / weight + most_s for other, most_s in others)


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
