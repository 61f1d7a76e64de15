"""What each open request is said to wait for: on the lab page, of searches and of comparisons."""

import pytest

from buildbot_bench.api.answers import AbTestState
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.columns import Priority, SearchKind
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.queries.overview import lab
from buildbot_bench.plugin.queries.searches import SearchViews

pytestmark = pytest.mark.both_databases


async def waiting(farm) -> dict[str, str]:
    """By revision what each request to apu waits for, in the order of their turns."""
    (apu,) = [one for one in (await lab(farm))["testbeds"] if one["testbed"] == "apu"]
    return {entry["label"]: entry["waits_for"] for entry in apu["queue"]}


async def compared(past, *, image: str = "built", state: str = AbTestState.RUNNING) -> int:
    """A comparison that carol began, whose kernel is in a state."""
    image = await past.image(2, **({} if image == "built" else {"state": image}))
    variant = AbTestVariant(image_id=image.id, tunables="", variant="r2", label="r2")
    wanted = NewAbTest(
        variants=[variant, variant],
        series=[("apu", "forwarding")],
        iterations=5,
        confidence=95.0,
        min_effect=0.02,
        requester="carol",
        state=state,
    )
    return (await past.farm.store.add_ab_test(wanted, now=past.farm.now())).id


async def test_what_goes_first_is_named_with_those_who_asked_for_it(past, master, farm):
    ann = await past.search(requester="ann")
    await past.probe(1, iterations=2, search_id=ann.id, reason="search", priority=Priority.SEARCH)
    await Issuer(farm, master).issue()
    await past.probe(3)
    bob = await past.search(requester="bob")
    await past.probe(4, iterations=1, search_id=bob.id, reason="search", priority=Priority.SEARCH)
    first = f"2 boots of search {ann.id} (ann)"
    assert await waiting(farm) == {
        "r1": "",
        "r3": f"waits for testbed apu: {first} go first",
        "r4": f"waits for testbed apu: {first} and 5 boots of commits go first",
    }
    views = SearchViews(farm)
    shown = [await views.summarise(search) for search in (ann, bob)]
    assert [one["waits_for"] for one in shown] == ["", (await waiting(farm))["r4"]]
    assert (await views.describe(bob.id))["now"] == (await waiting(farm))["r4"]


async def test_a_worker_that_is_away_is_what_its_testbed_waits_for(past, master, farm):
    await past.probe(1)
    master.data.workers["lab"] = {"workerid": 4, "connected_to": [], "paused": False}
    assert await waiting(farm) == {
        "r1": "waits for worker lab of testbed apu, which is not connected"
    }


async def test_a_build_is_waited_for_by_the_name_of_its_revision(past, master, farm):
    image = await past.image(3, state="wanted")
    await past.probe(image)
    assert await waiting(farm) == {"r3": "waits for a builder to build r3"}
    await Issuer(farm, master).issue()
    master.requests[0].claimed_by = 1
    assert await waiting(farm) == {"r3": "waits for a build of r3 on builder kernel"}


async def test_a_quarantine_is_waited_for_by_all_but_the_control_image(past, farm):
    probe = await past.probe(1)
    await past.quarantine(probe.id, reason="no value")
    await past.probe(2, reason="control", priority=Priority.CONTROL)
    assert await waiting(farm) == {
        "r2": "waits for testbed apu",
        "r1": "waits for the end of the quarantine of testbed apu",
    }


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("held", "waits for approval"),
        ("wanted", "waits for a builder to build r2"),
        ("building", "waits for a build of r2 on builder kernel"),
    ],
)
async def test_a_comparison_waits_for_approval_or_for_its_kernels(past, farm, master, image, said):
    state = AbTestState.AWAITING if image == "held" else AbTestState.RUNNING
    number = await compared(past, image="wanted" if image == "building" else image, state=state)
    if image == "building":
        await Issuer(farm, master).issue()
        master.requests[0].claimed_by = 1
    assert (await ComparisonViews(farm).describe(number))["waits_for"] == said


async def test_a_comparison_that_is_measured_waits_for_nothing(past, farm, master):
    number = await compared(past)
    await past.probe(2, ab_test_id=number, reason="person", priority=Priority.PERSON)
    shown = await ComparisonViews(farm).describe(number)
    assert shown["waits_for"] == shown["now"] == "waits for testbed apu"
    await Issuer(farm, master).issue()
    shown = await ComparisonViews(farm).describe(number)
    assert (shown["waits_for"], shown["now"]) == ("", "measuring r2: forwarding on apu")


async def test_a_search_for_what_broke_the_build_says_what_it_waits_for(past, farm, master):
    search = await past.search(1, 11, kind=SearchKind.BUILD, reason="alarm", requester="judge")
    await past.image(5, state="wanted")
    shown = await SearchViews(farm).summarise(search)
    assert shown["waits_for"] == "waits for a builder to build r5"
    await Issuer(farm, master).issue()
    master.requests[0].claimed_by = 1
    shown = await SearchViews(farm).summarise(search)
    assert shown["waits_for"] == "waits for a build of r5 on builder kernel"


async def test_builds_that_go_first_are_named_with_those_who_want_them(past, farm, master):
    carols = await past.image(2, state="wanted")
    await compared(past, image="wanted")
    await past.probe(await past.image(3, state="wanted"))
    assert carols.state == "wanted"
    # Commits weigh twice what a comparison does.
    (comparison,) = await farm.store.ab_tests()
    shown = await ComparisonViews(farm).describe(comparison.id)
    said = "waits for a builder to build r2: 1 build of commits goes first"
    assert shown["waits_for"] == said
