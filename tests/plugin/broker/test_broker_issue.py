"""How what is wanted becomes Buildbot's requests: each once, the urgent first."""

import pytest

from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.columns import Priority


@pytest.fixture
def issuer(farm, master) -> Issuer:
    return Issuer(farm, master)


async def test_a_wanted_image_is_asked_of_the_builder(issuer, past, farm, master):
    image = await past.image(4, state="wanted")
    await issuer.issue()
    (request,) = master.requests
    assert (request.builder, request.revision) == ("kernel", past.shas[4])
    assert request.reason == "build r4"
    assert request.properties == {
        "bench_image": image.id,
        "bench_label": "r4",
        "bench_ordinal": 0,
    }
    stored = await farm.store.image(image.id)
    assert (stored.state, stored.brid) == ("building", request.brid)


async def test_a_probe_whose_image_is_built_is_asked_of_its_testbed(issuer, past, farm, master):
    probe = await past.probe(4, priority=20, reason="search")
    await issuer.issue()
    (request,) = master.requests
    assert (request.builder, request.revision) == ("bench/apu", past.shas[4])
    assert request.reason == "measure r4 forwarding for search"
    assert request.priority == 20
    assert request.properties == {
        "bench_probe": probe.id,
        "bench_image": probe.image_id,
        "bench_label": "r4",
        "bench_workload": "forwarding",
    }
    stored = await farm.store.probe(probe.id)
    assert (stored.state, stored.brid) == ("issued", request.brid)
    assert stored.issued_at == farm.now()


async def test_a_probe_waits_for_its_image(issuer, past, master):
    image = await past.image(4, state="wanted")
    await past.probe(image)
    await issuer.issue()
    assert [request.builder for request in master.requests] == ["kernel"]
    await issuer.issue()
    assert len(master.requests) == 1


async def test_nothing_is_asked_for_twice(issuer, past, master):
    await past.probe(4)
    await past.image(5, state="wanted")
    for _ in range(3):
        await issuer.issue()
    assert len(master.requests) == 2


async def test_a_master_that_died_after_asking_for_an_image_finds_its_request_again(
    issuer, past, farm, master
):
    class DyingMaster:
        builderNames = master.builderNames  # noqa: N815 - Buildbot's name

        async def addBuildsetForSourceStamps(self, **asked) -> None:  # noqa: N802 - Buildbot's name
            await master.addBuildsetForSourceStamps(**asked)
            raise SystemExit

    image = await past.image(4, state="wanted")
    with pytest.raises(SystemExit):
        await Issuer(farm, DyingMaster()).issue()
    await issuer.issue()
    (request,) = master.requests
    assert (await farm.store.image(image.id)).brid == request.brid


async def test_a_master_that_died_after_asking_for_iterations_finds_its_request_again(
    issuer, past, farm, master
):
    probe = await past.probe(4)
    await issuer.issue()
    asked = await farm.store.probe(probe.id)
    await farm.store.change(asked, state="new", brid=None)
    await issuer.issue()
    (request,) = master.requests
    assert (await farm.store.probe(probe.id)).brid == request.brid


async def test_a_further_attempt_is_a_request_of_its_own(issuer, past, farm, master):
    image = await past.image(4, state="wanted")
    await issuer.issue()
    failed = await farm.store.image(image.id)
    await farm.store.change(failed, changed_at=farm.now(), state="wanted", attempt=1, brid=None)
    await past.probe(6, attempt=2)
    await issuer.issue()
    names = [request.name for request in master.requests]
    assert len(set(names)) == 3
    assert names[-1] == "bench-image:1:3"


async def test_an_image_is_as_urgent_as_the_most_urgent_probe_that_waits_for_it(
    issuer, past, master
):
    image = await past.image(4, state="wanted")
    for priority in (Priority.COMMIT, Priority.SEARCH, Priority.BACKFILL):
        await past.probe(image, priority=priority)
    await issuer.issue()
    assert master.requests[0].priority == Priority.SEARCH


async def test_an_image_that_nobody_waits_for_yet_is_built_ahead_of_backfill_only(
    issuer, past, master
):
    await past.image(4, state="wanted")
    await issuer.issue()
    assert master.requests[0].priority == Priority.AHEAD
    assert Priority.BACKFILL < Priority.AHEAD < Priority.COMMIT


def test_people_go_before_controls_searches_confirmations_commits_and_improvements_last():
    order = sorted(Priority, reverse=True)
    assert [one.name for one in order] == [
        "PERSON",
        "CONTROL",
        "SEARCH",
        "CONFIRM",
        "COMMIT",
        "AHEAD",
        "SPARE",
        "BACKFILL",
        "IMPROVEMENT",
    ]
