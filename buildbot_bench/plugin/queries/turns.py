"""The fair queues of testbeds and builders, by the claimants that wait for them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from buildbot_bench.api.answers import AbTestState, ProbeState, SearchState
from buildbot_bench.core.sharing import (
    Claim,
    ClaimKind,
    Demand,
    PersonPriority,
    Served,
    Turn,
    turns,
)
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import (
    UNBUILT,
    ImageState,
    Priority,
    ProbeReason,
    ProfileState,
    SearchKind,
    SearchReason,
)
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.probes import CaptureClaimRow, ClaimRow
from buildbot_bench.plugin.db.rows import ImageRow, SeriesName
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


# A name that no worker has: theirs have no blanks. Builders share what is to be built.
_BUILDERS = "all builders"
# What a build costs against another: kernels of one farm take about as long as one another.
_BUILD = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildWish:
    """On whose account a kernel is wanted, for what (`search 12 (ann)`), and how urgently."""

    claim: Claim
    whose: str
    rank: int = 0


_AHEAD = BuildWish(claim=Claim(kind=ClaimKind.IDLE), whose="searches, ahead", rank=Priority.AHEAD)


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildTurns:
    """The kernels that are to be built, with their wishes; what each claimant had so far.

    `searches` are the first kernel that each search of a broken build waits for.
    """

    images: Mapping[int, ImageRow] = field(default_factory=dict)
    wishes: Mapping[int, BuildWish] = field(default_factory=dict)
    weights: Mapping[int, float] = field(default_factory=dict)
    served: Mapping[str, Served] = field(default_factory=dict)
    searches: Mapping[int, int] = field(default_factory=dict)

    def order(self, among: Iterable[int] | None = None) -> Iterator[Turn]:
        """The turns of those images, or of all; the number of a turn's demand is its image's id."""
        numbers = self.wishes.keys() if among is None else self.wishes.keys() & set(among)
        return turns((self._demand(number) for number in sorted(numbers)), self.served)

    def _demand(self, number: int) -> Demand:
        wish = self.wishes[number]
        return Demand(
            number=number,
            claimant=wish.claim.claimant,
            weight=self.weights[number],
            cost_s=_BUILD,
            rank=wish.rank,
        )


async def build_turns(farm: Farm) -> BuildTurns:
    """How it stands."""
    store = farm.store
    unbuilt = [row for state in UNBUILT for row in await store.images(state=state)]
    images = [row for row in unbuilt if not row.is_prebuilt]
    if not images:
        return BuildTurns()
    found: dict[int, list[BuildWish]] = {row.id: [] for row in images}
    for row in await store.claims():
        if row.image_id in found:
            wish = wish_of(farm, row)
            found[row.image_id].append(
                BuildWish(claim=wish.claim, whose=wish.whose, rank=row.priority)
            )
    for ab_test in await store.ab_tests(states=(AbTestState.RUNNING,)):
        for number in found.keys() & set(ab_test.image_ids):
            found[number].append(_of_comparison(ab_test))
    searches: dict[int, int] = {}
    for search in await store.searches(states=(SearchState.RUNNING,), kinds=(SearchKind.BUILD,)):
        for number in _of_broken_build(search, images):
            found[number].append(_of_search(search))
            searches.setdefault(search.id, number)
    weights = farm.workflow.sharing.weights
    wishes = {
        number: max(those, key=lambda one: (one.claim.weight(weights), one.rank), default=_AHEAD)
        for number, those in found.items()
    }
    return BuildTurns(
        images={row.id: row for row in images},
        wishes=wishes,
        weights={number: wish.claim.weight(weights) for number, wish in wishes.items()},
        served=(await store.shares()).get(_BUILDERS, {}),
        searches=searches,
    )


async def keep_build(farm: Farm, image_id: int) -> None:
    """Have the build of an image, which begins, count for its claimant."""
    found = await build_turns(farm)
    turn = next(found.order([image_id]), None)
    if turn is not None and turn.span is not None:
        await farm.unguarded.keep_share(_BUILDERS, turn.demand.claimant, turn.span)


def _of_broken_build(search: SearchRow, images: Sequence[ImageRow]) -> Iterator[int]:
    """The plain kernels of the range of a search for the commit that broke the build."""
    for row in images:
        is_plain = row.variant == row.sha and row.repository == search.repository
        if is_plain and search.old_position <= row.position <= search.new_position:
            yield row.id


def _of_search(search: SearchRow) -> BuildWish:
    person = search.requester if search.reason is SearchReason.PERSON else ""
    claim = Claim(
        kind=ClaimKind.SEARCHES if person else ClaimKind.ALARMS,
        person=person,
        priority=search.priority if person else PersonPriority.NORMAL,
    )
    whose = f"search {search.id}" + (f" ({person})" if person else "")
    return BuildWish(claim=claim, whose=whose, rank=Priority.SEARCH)


def _of_comparison(ab_test: AbTestRow) -> BuildWish:
    claim = Claim(kind=ClaimKind.COMPARISONS, person=ab_test.payer, priority=ab_test.priority)
    whose = f"comparison {ab_test.id}" + (f" ({ab_test.payer})" if ab_test.payer else "")
    return BuildWish(claim=claim, whose=whose, rank=Priority.PERSON)
