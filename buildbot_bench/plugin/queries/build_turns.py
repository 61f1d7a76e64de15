"""The fair queue of kernels to build, by the claimants that wait for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from buildbot_bench.api.states import AbTestState, SearchState
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
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import UNBUILT, Priority, SearchKind, SearchReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.turns import wish_of

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
