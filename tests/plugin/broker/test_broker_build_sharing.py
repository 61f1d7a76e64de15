"""Whose kernel is built next where several want builders: each its share, and nobody starves."""

from collections import Counter
from types import SimpleNamespace

import pytest
from twisted.python import log

from buildbot_bench.core.sharing import Weights
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.quarantine import begin_build, next_build
from buildbot_bench.plugin.db.ab_test_rows import AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.columns import Priority, ProbeReason
from tests.fakes.master import FakeMaster

pytestmark = pytest.mark.both_databases


def as_buildbot_asks(master: FakeMaster) -> list[SimpleNamespace]:
    """The builders' requests that nobody has claimed."""
    return [
        SimpleNamespace(
            id=one.brid,
            priority=one.priority,
            properties=SimpleNamespace(getProperty=one.properties.get),
        )
        for one in master.requests
        if one.builder == "kernel" and not one.complete
    ]


class Builder:
    """One builder that builds what `next_build` says, whatever waits."""

    def __init__(self, past, master) -> None:
        self.past, self.master = past, master
        self.whose: dict[int, str] = {}
        self.ordinal = 0

    async def image(self, whose: str):
        """Another kernel to build, for somebody."""
        self.ordinal += 1
        image = await self.past.image(1, ordinal=self.ordinal, state="wanted")
        self.whose[image.id] = whose
        return image

    async def compare(self, person: str, kernels: int) -> None:
        """A comparison of so many kernels that nobody has built."""
        images = [await self.image(person) for _ in range(kernels)]
        variants = [
            AbTestVariant(image_id=image.id, tunables="", variant=str(image.id), label="x")
            for image in images
        ]
        wanted = NewAbTest(
            variants=variants,
            series=[("apu", "forwarding")],
            iterations=5,
            confidence=95.0,
            min_effect=0.02,
            requester=person,
        )
        await self.past.farm.store.add_ab_test(wanted, now=self.past.farm.now())

    async def commit(self) -> None:
        """A commit that is measured on its own account."""
        await self.past.probe(await self.image("commits"), priority=Priority.COMMIT)

    async def build(self) -> str:
        """Build one kernel; whose it was."""
        await Issuer(self.past.farm, self.master).issue()
        buildbot = SimpleNamespace(master=self.master)
        request = await next_build(buildbot, as_buildbot_asks(self.master))
        assert await begin_build(buildbot, None, request)
        self.master.complete(request.id)
        number = request.properties.getProperty("bench_image")
        store = self.past.farm.store
        image = await store.image(number)
        await store.change(image, changed_at=1.0, state="built", digest="d", size=1)
        return self.whose[number]


@pytest.fixture
def builder(past, master) -> Builder:
    return Builder(past, master)


async def test_many_comparisons_of_one_person_starve_neither_commits_nor_another(builder):
    for _ in range(4):
        await builder.compare("ann", 8)
    await builder.compare("bob", 4)
    for _ in range(8):
        await builder.commit()
    built = [await builder.build() for _ in range(16)]
    weights = Weights()
    each = 16 / (weights.commits + 2 * weights.comparisons)
    assert Counter(built) == {
        "commits": each * weights.commits,
        "ann": each * weights.comparisons,
        "bob": each * weights.comparisons,
    }
    # Each of the two has its first build within the first four.
    assert {"commits", "ann", "bob"} <= set(built[:4])


async def test_many_commits_do_not_starve_a_comparison(builder):
    for _ in range(20):
        await builder.commit()
    for _ in range(3):
        await builder.build()
    await builder.compare("ann", 2)
    assert "ann" in [await builder.build() for _ in range(3)]


async def test_what_is_built_ahead_waits_until_nothing_else_is_wanted(builder):
    await builder.image("ahead")
    await builder.commit()
    assert [await builder.build() for _ in range(2)] == ["commits", "ahead"]


async def test_a_kernel_counts_for_the_one_with_the_largest_share(builder, past):
    image = await builder.image("both")
    await past.probe(image, priority=Priority.COMMIT)
    search = await past.search(requester="ann", priority="high")
    await past.probe(
        image, search_id=search.id, reason=ProbeReason.SEARCH, priority=Priority.SEARCH
    )
    await builder.build()
    (shares,) = (await past.farm.store.shares()).values()
    assert set(shares) == {"searches of ann"}


async def test_what_a_person_forces_is_built_first_and_counts_for_nobody(builder, master, past):
    await builder.commit()
    await Issuer(past.farm, master).issue()
    forced = SimpleNamespace(
        id=9, priority=0, properties=SimpleNamespace(getProperty=lambda _name: None)
    )
    buildbot = SimpleNamespace(master=master)
    assert await next_build(buildbot, [*as_buildbot_asks(master), forced]) is forced
    assert await begin_build(buildbot, None, forced)
    assert await past.farm.store.shares() == {}


async def test_tables_that_do_not_answer_stop_no_builder(builder, master, past, monkeypatch):
    await builder.commit()
    await Issuer(past.farm, master).issue()
    requests = as_buildbot_asks(master)

    async def fail(_function):
        raise OSError("the database is away")

    seen: list[str] = []

    def observe(event):
        if event["isError"]:
            seen.append(str(event["why"]))

    log.addObserver(observe)
    monkeypatch.setattr(master.db.pool, "do", fail)
    assert await next_build(SimpleNamespace(master=master), requests) is requests[0]
    log.removeObserver(observe)
    assert any("builds are not shared out fairly" in why for why in seen)
