"""Fair sharing of a testbed, and the clause that says why a request waits.

Goyal, Vin, Cheng: Start-Time Fair Queueing, SIGCOMM 1996, a form of the weighted fair queueing of
Demers, Keshav, Shenker (SIGCOMM 1989) that needs no clock. Each service gets a span of virtual
time, as long as its duration divided by its weight, behind the span of the same claimant's service
before; the span that begins the earliest is next. A claimant without demands saves nothing up: its
next span begins where the last served one began.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from types import MappingProxyType

from buildbot_bench.core.figures import count, listed


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
    """On whose account something is measured; `person` is empty where nobody is known to ask."""

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


# Of what goes first so many are named; the rest is counted.
_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForDecision:
    """It waits for a person, or for what no testbed and no builder brings: `approval`."""

    by: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForBuild:
    """It waits for its kernel; `builder` builds it, None: a free one is awaited first.

    `ahead` is what builders build first: of each for whom, as in `search 12 (ann)`, how many.
    """

    label: str
    builder: str | None = None
    ahead: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitForTestbed:
    """It waits until a testbed has done what goes first.

    Attributes:
        name: The testbed's.
        ahead: What goes first, in order: of each for whom, as in `search 12 (ann)`, and how many
            boots.
        away: The worker that serves the testbed, when it is not connected.
        iteration: What an iteration there is called.
    """

    name: str
    ahead: Sequence[tuple[str, int]] = ()
    away: str | None = None
    iteration: str = "boot"


def what_it_waits_for(reason: WaitForDecision | WaitForBuild | WaitForTestbed) -> str:
    """One clause: `waits for testbed apu2: 3 boots of search 12 (ann) go first`."""
    match reason:
        case WaitForDecision(by=by):
            return f"waits for {by}"
        case WaitForBuild(label=label, builder=None, ahead=ahead):
            first = f": {_first(ahead, 'build')}" if ahead else ""
            return f"waits for a builder to build {label}{first}"
        case WaitForBuild(label=label, builder=builder):
            return f"waits for a build of {label} on builder {builder}"
        case WaitForTestbed(name=name, away=str(worker)):
            return f"waits for worker {worker} of testbed {name}, which is not connected"
        case WaitForTestbed(name=name, ahead=ahead, iteration=iteration):
            return f"waits for testbed {name}" + (f": {_first(ahead, iteration)}" if ahead else "")


def _first(ahead: Sequence[tuple[str, int]], what: str) -> str:
    numbers: Counter[str] = Counter()
    for whose, number in ahead:
        numbers[whose] += number
    named = list(numbers.items())
    # One more would be named in as many words as it is counted in.
    shown = named if len(named) <= _NAMED + 1 else named[:_NAMED]
    said = [f"{count(number, what)} of {whose}" for whose, number in shown]
    if rest := sum(numbers.values()) - sum(number for _, number in shown):
        said.append(f"{count(rest, what)} of others")
    alone = sum(numbers.values()) == 1
    return f"{listed(said)} {'goes' if alone else 'go'} first"
