"""The fair queue of each lab worker: its present request, and the order of the next."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.sharing import Claim, ClaimKind, Demand, PersonPriority, Served, turns
from buildbot_bench.plugin.db.probes import CaptureClaimRow, ClaimRow
from buildbot_bench.plugin.db.rows import SeriesName
from buildbot_bench.plugin.db.states import (
    ImageState,
    Priority,
    ProbeReason,
    ProfileState,
    SearchReason,
)
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import held_testbeds, testbed_of
from buildbot_bench.plugin.queries.breakages import Trouble, troubles_of_workloads

DAY_S = 24 * 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """One open request to a testbed, on whose account it is, and what it takes there."""

    row: ClaimRow | CaptureClaimRow
    claim: Claim
    cost_s: float

    @property
    def whose(self) -> str:
        """For what it is, as in `search 12 (ann)`."""
        row = self.row
        if row.ab_test_id is not None:
            return _of(f"comparison {row.ab_test_id}", row.ab_test_payer)
        if row.search_id is not None:
            return _of(f"search {row.search_id}", row.search_requester)
        return str(self.claim.kind)

    @property
    def boots(self) -> int:
        """How many there are to be."""
        return self.row.iterations if isinstance(self.row, ClaimRow) else 1

    @property
    def is_begun(self) -> bool:
        """Whether its job may still run in the lab: it was asked for, and its build was stopped."""
        row = self.row
        return row.attempt > (row.round if isinstance(row, ClaimRow) else 0)

    def demand(self, number: int, weight: float) -> Demand:
        """The same in the core's words."""
        row = self.row
        of_capture = Priority.SEARCH if row.ab_test_id is None else Priority.PERSON
        rank = row.priority if isinstance(row, ClaimRow) else of_capture
        return Demand(
            number=number,
            claimant=self.claim.claimant,
            weight=weight,
            cost_s=self.cost_s,
            rank=rank,
        )


def _of(what: str, requester: str | None) -> str:
    return f"{what} ({requester})" if requester else what


@dataclass(frozen=True, kw_only=True, slots=True)
class LabTurn:
    """A request in its turn, its place among what is ready, and what is to be kept of the turn."""

    place: int
    wish: Wish
    span: Served | None


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerQueue:
    """What a worker serves, one at a time: what was handed to it, and what might be now.

    `handed` is what the worker does, or will do before all else. `ready` is what lacks nothing but
    its turn; `weights` are theirs, `served` what each claimant had.
    """

    handed: list[Wish] = field(default_factory=list)
    ready: list[Wish] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    served: Mapping[str, Served] = field(default_factory=dict)

    def order(self, without: Collection[int] = ()) -> Iterator[LabTurn]:
        """What is ready in the order of its turns.

        First what the lab may still be at. `without` are places in `ready` that are passed over.
        """
        places = [place for place in range(len(self.ready)) if place not in without]
        for place in places:
            if self.ready[place].is_begun:
                yield LabTurn(place=place, wish=self.ready[place], span=None)
        demands = [
            self.ready[place].demand(place, self.weights[place])
            for place in places
            if not self.ready[place].is_begun
        ]
        for turn in turns(demands, self.served):
            place = turn.demand.number
            yield LabTurn(place=place, wish=self.ready[place], span=turn.span)


async def keep_turn(farm: Farm, worker: str, turn: LabTurn) -> None:
    """Have the turn count for its claimant."""
    if turn.span is not None:
        await farm.store.keep_share(worker, turn.wish.claim.claimant, turn.span)


@dataclass(frozen=True, kw_only=True, slots=True)
class LabTurns:
    """The queues of all workers, and what is kept from them.

    `held` are the testbeds in quarantine, `broken` the series whose workload is in doubt,
    `used_up` the people who had their boots of a day.
    """

    queues: Mapping[str, WorkerQueue]
    wishes: Sequence[Wish]
    held: Collection[str]
    broken: Mapping[SeriesName, Trouble]
    used_up: Mapping[str, int]


async def lab_turns(farm: Farm) -> LabTurns:
    """How it stands."""
    held, broken = await held_testbeds(farm), await troubles_of_workloads(farm)
    wishes = [
        *(wish_of(farm, row) for row in await farm.store.claims()),
        *(wish_of(farm, row) for row in await farm.store.capture_claims()),
    ]
    used_up = await _used_up(farm, wishes)
    shares = await farm.store.shares() if wishes else {}
    weights = farm.workflow.sharing.weights
    queues: dict[str, WorkerQueue] = {}
    for wish in wishes:
        worker = testbed_of(farm, wish.row.testbed).worker
        if worker not in queues:
            queues[worker] = WorkerQueue(served=shares.get(worker, {}))
        # A quarantine lets only control images through.
        is_held = wish.row.testbed in held and wish.claim.kind is not ClaimKind.CONTROL
        if is_held or is_kept_from_workload(wish, broken):
            continue
        if wish.row.state in {ProbeState.ISSUED, ProfileState.ISSUED}:
            queues[worker].handed.append(wish)
        elif wish.row.image_state is ImageState.BUILT and not has_used_up(wish.row, used_up):
            queues[worker].ready.append(wish)
            queues[worker].weights.append(wish.claim.weight(weights))
    return LabTurns(queues=queues, wishes=wishes, held=held, broken=broken, used_up=used_up)


def is_kept_from_workload(wish: Wish, broken: Mapping[SeriesName, Trouble]) -> bool:
    """Whether a request waits for its workload: what tells whether that works does not."""
    row = wish.row
    if not isinstance(row, ClaimRow) or wish.claim.kind is ClaimKind.CONTROL:
        return False
    return (row.testbed, row.workload) in broken


def has_used_up(row: ClaimRow | CaptureClaimRow, used_up: Mapping[str, int]) -> bool:
    """Whether a request is of somebody limited who had their boots of a day."""
    return row.budget_of in used_up


async def boots_of_a_day(farm: Farm, people: Iterable[str]) -> dict[str, int]:
    """By person the boots on their account within a day; who had none is not there."""
    found: dict[str, int] = await farm.store.boots_since(farm.now() - DAY_S, set(people))
    return found


async def _used_up(farm: Farm, wishes: Iterable[Wish]) -> dict[str, int]:
    """By person the boots of a day, of those who may have no more."""
    people = {wish.row.budget_of for wish in wishes if wish.row.budget_of is not None}
    had = await boots_of_a_day(farm, people) if people else {}
    most = farm.workflow.untrusted.boots_a_day
    return {person: boots for person, boots in had.items() if boots >= most}


def wish_of(farm: Farm, row: ClaimRow | CaptureClaimRow) -> Wish:
    """A request with the account that it counts for, and the seconds that it takes."""
    declared = testbed_of(farm, row.testbed)
    once_s = declared.boot_s + declared.run_s
    times = row.iterations if isinstance(row, ClaimRow) else 1
    return Wish(row=row, claim=_claim(row), cost_s=times * once_s)


def _claim(row: ClaimRow | CaptureClaimRow) -> Claim:
    """On whose account a request is."""
    reason = row.reason if isinstance(row, ClaimRow) else None
    person, priority = "", PersonPriority.NORMAL
    if reason in {ProbeReason.CONTROL, ProbeReason.WORKLOAD}:
        kind = ClaimKind.CONTROL
    elif isinstance(row, ClaimRow) and row.priority <= Priority.SPARE:
        kind = ClaimKind.IDLE
    elif row.ab_test_id is not None:
        kind = ClaimKind.COMPARISONS
        person, priority = row.ab_test_payer or "", row.ab_test_priority or priority
    elif reason is ProbeReason.PERSON:
        kind = ClaimKind.BY_HAND
    elif row.search_reason is SearchReason.PERSON:
        kind = ClaimKind.SEARCHES
        person, priority = row.search_requester or "", row.search_priority or priority
    elif row.search_id is not None or reason is ProbeReason.CONFIRM:
        kind = ClaimKind.ALARMS
    else:
        kind = ClaimKind.COMMITS
    return Claim(kind=kind, person=person, priority=priority)
