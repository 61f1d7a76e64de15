"""Start-time fair queueing of the demands for a testbed, by claimants' weights.

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
from heapq import heappop, heappush


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
