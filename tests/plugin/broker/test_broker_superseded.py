"""With `concurrency.cancel-in-progress` a later push is all that counts."""

import pytest

from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.removed import Superseded
from tests.fakes.master import US, Request
from tests.fakes.past import Past

LATEST = ("env: {CFLAGS: -O2}", "concurrency: {cancel-in-progress: true}\nenv: {CFLAGS: -O2}")


@pytest.fixture
def latest(make_farm):
    """The farm with cancel-in-progress."""
    return make_farm(LATEST)


async def push(farm, shas, *positions: int, important: bool = True) -> None:
    """Commits that arrive together, a second after what arrived before."""
    farm.master.reactor.advance(1)
    await Past(farm, shas).commits(*positions, important=important, arrived_at=farm.now())


def request_of(farm) -> int:
    """A request of Buildbot's that waits in its builder's queue."""
    request = Request(
        brid=700, name="x", builder="b", revision="", reason="", priority=0, properties={}
    )
    farm.master.requests.append(request)
    return request.brid


async def cycle(farm) -> None:
    await Superseded(farm).advance()
    await CommitQueue(farm).advance()


async def states(farm) -> list[tuple[str, str, str]]:
    """Of each request, in order: what it measures, why, and what became of it."""
    probes = sorted(await farm.store.probes(), key=lambda probe: probe.id)
    return [
        ((await farm.store.image(p.image_id)).label, str(p.reason), str(p.state)) for p in probes
    ]


@pytest.mark.both_databases
async def test_what_has_not_begun_gives_way_to_a_later_push(latest, published):
    await push(latest, published[2], 1, 2)
    await cycle(latest)
    await push(latest, published[2], 3)
    await cycle(latest)
    assert await states(latest) == [("r2", "commit", "cancelled"), ("r3", "commit", "new")]
    old, new = sorted(await latest.store.images(), key=lambda image: image.position)
    assert (old.state, new.state) == ("dropped", "wanted")
    probe = await latest.store.probe(1)
    assert probe.failure == "a later push arrived (concurrency.cancel-in-progress)"


async def test_without_it_what_waits_is_measured_first(farm, published):
    await push(farm, published[2], 1)
    await cycle(farm)
    await push(farm, published[2], 2)
    await cycle(farm)
    assert await states(farm) == [("r1", "commit", "new")]


async def test_what_a_worker_has_begun_goes_on(latest, published):
    past = Past(latest, published[2])
    await push(latest, published[2], 1)
    brid = request_of(latest)
    await past.probe(1, state="issued", brid=brid)
    latest.master.requests[0].claimed_by = US
    await push(latest, published[2], 2)
    await cycle(latest)
    assert await states(latest) == [("r1", "commit", "issued")]
    assert latest.master.data.cancelled == []


async def test_a_request_that_waits_in_buildbots_queue_is_called_off(latest, published):
    past = Past(latest, published[2])
    await push(latest, published[2], 1)
    brid = request_of(latest)
    await past.probe(1, state="issued", brid=brid)
    await push(latest, published[2], 2)
    await cycle(latest)
    assert await states(latest) == [("r1", "commit", "cancelled"), ("r2", "commit", "new")]
    assert latest.master.data.cancelled == [brid]


async def test_earlier_pushes_are_not_made_up_for_when_the_lab_idles(latest, published):
    past = Past(latest, published[2])
    await push(latest, published[2], 1, 2)
    await push(latest, published[2], 3, 4)
    await past.measured(4, (1e6,) * 5)
    await cycle(latest)
    assert (await states(latest))[1:] == [("r3", "backfill", "new")], "of the same push"
    await push(latest, published[2], 5)
    await past.measured(5, (1e6,) * 5)
    await cycle(latest)
    await cycle(latest)
    asked = {label for label, _, state in await states(latest) if state == "new"}
    assert asked == set()


async def test_a_push_of_which_nothing_is_measured_drops_nothing(latest, published):
    await push(latest, published[2], 1)
    await cycle(latest)
    await push(latest, published[2], 2, important=False)
    await cycle(latest)
    assert await states(latest) == [("r1", "commit", "new")]


@pytest.mark.parametrize("reason", ["search", "confirm", "person", "control", "schedule"])
async def test_what_others_asked_for_stays(latest, published, reason):
    past = Past(latest, published[2])
    await push(latest, published[2], 1)
    await past.probe(1, reason=reason)
    await push(latest, published[2], 2)
    await cycle(latest)
    assert ("r1", reason, "new") in await states(latest)


async def test_an_image_that_something_else_waits_for_is_kept(latest, published):
    past = Past(latest, published[2])
    await push(latest, published[2], 1)
    image = await past.image(1, state="wanted")
    await past.probe(image)
    await past.probe(image, reason="search")
    await push(latest, published[2], 2)
    await cycle(latest)
    assert (await latest.store.image(image.id)).state == "wanted"
