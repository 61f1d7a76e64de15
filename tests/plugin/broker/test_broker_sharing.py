"""Who gets a testbed that several want: each its share, and nobody waits beyond a bound."""

import itertools
from collections import Counter

import pytest

from buildbot_bench.core.sharing import Weights
from buildbot_bench.plugin.broker.captures import CaptureRequests
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.columns import Priority, ProbeReason, SearchReason
from buildbot_bench.plugin.queries.turns import DAY_S, lab_turns
from tests.fakes.fairness import waits_at_most_s

ONE_BOOT_S = 90.0  # of apu, in tests/plugin/bench.yml
SAMPLED = ("testbeds:\n  apu: {", "testbeds:\n  apu: {profile: 20m, ")


class Wanting:
    """A testbed that several want: each asks for its next boot when it has had one."""

    def __init__(self, past, master) -> None:
        self.past, self.master = past, master
        self.issuer = Issuer(past.farm, master)
        self.asked: dict[str, dict] = {}
        self.open: dict[int, str] = {}
        self.images = 0

    async def want(self, name: str, **columns) -> None:
        """One more boot, of a kernel that nobody else boots."""
        self.asked[name] = columns
        self.images += 1
        image = await self.past.image(1, ordinal=self.images)
        probe = await self.past.probe(image, iterations=1, **columns)
        self.open[probe.id] = name

    async def serve(self) -> str:
        """Let the testbed do what it is given; whose it was."""
        farm = self.past.farm
        await self.issuer.issue()
        (probe,) = await farm.store.probes(state="issued")
        self.master.complete(probe.brid)
        self.master.reactor.advance(ONE_BOOT_S)
        await farm.store.change(probe, state="done", ended_at=farm.now())
        name = self.open.pop(probe.id)
        await self.want(name, **self.asked[name])
        return name


@pytest.fixture
def wanting(past, master) -> Wanting:
    return Wanting(past, master)


async def comparison(past, **columns) -> int:
    """A comparison of r1 and r2, as ann started it."""
    images = [await past.image(position) for position in (1, 2)]
    variants = [
        AbTestVariant(image_id=image.id, tunables="", variant=image.label, label=image.label)
        for image in images
    ]
    asked = {
        "variants": variants,
        "series": [("apu", "forwarding")],
        "iterations": 5,
        "confidence": 95.0,
        "min_effect": 0.02,
        "requester": "ann",
    }
    row = await past.farm.store.add_ab_test(NewAbTest(**asked | columns), now=past.farm.now())
    return row.id


async def test_two_peoples_searches_a_comparison_and_commits_share_a_testbed(wanting, past, master):
    by_weight = {"search of ann": 4.0, "search of bob": 4.0, "commits": 4.0, "comparison": 2.0}
    for person in ("ann", "bob"):
        search = await past.search(requester=person)
        asked = {"search_id": search.id, "reason": "search", "priority": Priority.SEARCH}
        await wanting.want(f"search of {person}", **asked)
    compared = await comparison(past, requester="carol")
    urgent = {"reason": ProbeReason.PERSON, "priority": Priority.PERSON}
    await wanting.want("comparison", ab_test_id=compared, **urgent)
    await wanting.want("commits", priority=Priority.COMMIT)
    order = [await wanting.serve() for _ in range(28)]
    assert Counter(order) == {name: 2 * weight for name, weight in by_weight.items()}
    for name, weight in by_weight.items():
        others = [(one, ONE_BOOT_S) for other, one in by_weight.items() if other != name]
        most = waits_at_most_s(weight, ONE_BOOT_S, others) / ONE_BOOT_S
        places = [-1, *(place for place, one in enumerate(order) if one == name)]
        waits = [later - sooner - 1 for sooner, later in itertools.pairwise(places)]
        assert max(waits) <= most


async def test_fifty_boots_of_one_person_hold_another_up_for_a_few_only(wanting, past, master):
    ann, bob = [await past.search(requester=person) for person in ("ann", "bob")]
    asked = {"reason": "search", "priority": Priority.SEARCH}
    for _ in range(50):
        await wanting.want("ann", search_id=ann.id, **asked)
    for _ in range(5):
        await wanting.serve()
    await wanting.want("bob", search_id=bob.id, **asked)
    assert "bob" in [await wanting.serve() for _ in range(2)]


async def test_an_alarm_gets_more_than_a_comparison_and_a_low_priority_less(wanting, past):
    alarm = await past.search(reason=SearchReason.ALARM, requester="", claimed=-0.2)
    await wanting.want("alarm", search_id=alarm.id, reason="search", priority=Priority.SEARCH)
    urgent = {"reason": ProbeReason.PERSON, "priority": Priority.PERSON}
    for person, priority in (("ann", "normal"), ("bob", "low")):
        row = await comparison(past, requester=person, priority=priority)
        await wanting.want(person, ab_test_id=row, **urgent)
    got = Counter([await wanting.serve() for _ in range(21)])
    weights = Weights()
    assert got == {
        "alarm": 2 * weights.alarms,
        "ann": 2 * weights.comparisons,
        "bob": 2 * weights.comparisons / 4,
    }


async def test_shares_outlast_the_master(wanting, past, master):
    ann, bob = [await past.search(requester=person) for person in ("ann", "bob")]
    asked = {"reason": "search", "priority": Priority.SEARCH}
    for _ in range(3):
        await wanting.want("ann", search_id=ann.id, **asked)
    await wanting.want("bob", search_id=bob.id, **asked)
    order = []
    for _ in range(6):
        wanting.issuer = Issuer(past.farm, master)
        order.append(await wanting.serve())
    assert Counter(order) == {"ann": 3, "bob": 3}


async def test_a_worker_is_handed_one_boot_at_a_time_and_workers_are_shared_apart(past, master):
    issuer = Issuer(past.farm, master)
    for testbed in ("apu", "apu", "xeon"):
        await past.probe(4, testbed=testbed)
    for _ in range(3):
        await issuer.issue()
    assert sorted(request.builder for request in master.requests) == ["bench/apu", "bench/xeon"]


async def test_what_the_lab_may_still_be_at_goes_first_and_counts_once(past, master, farm):
    issuer = Issuer(farm, master)
    begun = await past.probe(4, reason="backfill", priority=Priority.BACKFILL, attempt=1)
    await past.probe(5, reason="control", priority=Priority.CONTROL)
    await issuer.issue()
    assert [request.properties["bench_probe"] for request in master.requests] == [begun.id]
    assert await farm.store.shares() == {}


async def test_what_waits_in_quarantine_keeps_no_control_image_from_its_testbed(past, master, farm):
    issuer = Issuer(farm, master)
    held = await past.probe(4)
    await issuer.issue()
    await past.quarantine(held.id, reason="no value")
    control = await past.probe(5, reason="control", priority=Priority.CONTROL)
    await past.probe(6)
    await issuer.issue()
    issued = [request.properties["bench_probe"] for request in master.requests]
    assert issued == [held.id, control.id]


async def test_captures_of_a_comparison_take_turns_with_commits(make_farm, past, master):
    farm = past.farm = make_farm(SAMPLED)
    row = await comparison(past)
    await past.probe(5)
    issuer = Issuer(farm, master)
    captures = CaptureRequests(farm, master, issuer)
    order = []
    for _ in range(3):
        await captures.advance()
        await issuer.issue()
        request = master.requests[-1]
        order.append(request.builder)
        master.complete(request.brid)
        for profile in await farm.store.profiles(state="issued"):
            await farm.store.change(profile, state="failed", ended_at=farm.now())
        for probe in await farm.store.probes(state="issued"):
            await farm.store.change(probe, state="done", ended_at=farm.now())
    assert row
    assert sorted(order) == ["bench/apu", "profile/apu", "profile/apu"]
    assert order.index("bench/apu") < 2


async def test_who_is_limited_gets_so_many_boots_a_day_and_the_rest_the_day_after(
    make_farm, past, master
):
    farm = past.farm = make_farm(("\nmail:", "\nuntrusted: {boots-a-day: 10}\n\nmail:"))
    issuer = Issuer(farm, master)
    for limited, requester in ((True, "guest"), (False, "ann")):
        row = await comparison(past, limited=limited, requester=requester)
        for _ in range(3):
            await past.probe(1, ab_test_id=row, reason="person", priority=Priority.PERSON)

    async def served() -> int:
        """How many boots the testbed does before nothing is left that it may do."""
        boots = 0
        while True:
            await issuer.issue()
            issued = await farm.store.probes(state="issued")
            if not issued:
                return boots
            for probe in issued:
                boots += probe.iterations
                await farm.store.change(probe, state="done", ended_at=farm.now())

    assert await served() == 15 + 10
    assert (await lab_turns(farm)).used_up == {"guest": 10}
    master.reactor.advance(DAY_S + 1)
    assert await served() == 5
