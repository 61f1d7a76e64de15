"""Old kernels are deleted from a real disk, and whoever dies meanwhile leaves no wrong claim."""

import hashlib

import pytest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.plugin.artefacts.place import ArtefactMissingError
from buildbot_bench.plugin.broker.ask import BuildTarget, ask_image
from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.retention import AT_ONCE, LOOK_EVERY_S, Retention
from buildbot_bench.plugin.db.samples import DELETED
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.rest.views import kernels
from tests.fakes.past import Past

DAY_S = 86400.0
KERNEL = b"kernel of r%d".ljust(1024, b".")
SIZE = len(KERNEL % 3)


@pytest.fixture
def farm(make_farm):
    return make_farm(
        ("regression:", "artefacts: {retention: {keep-days: 90}}\nregression:"),
    )


@pytest.fixture
def store_kernel(farm, past):
    """Builds a kernel's image as the steps do; the image."""

    async def store(position: int):
        incoming = farm.artefacts.incoming(f"build-{position}")
        incoming.write_bytes(KERNEL % position)
        artefact = await farm.artefacts.look(incoming)
        await farm.store.keep_artefact(digest=artefact.digest, size=artefact.size, now=farm.now())
        await farm.artefacts.adopt(incoming, artefact)
        return await past.image(position, digest=artefact.digest, size=artefact.size)

    return store


def later(farm, days: float) -> None:
    farm.master.reactor.advance(days * DAY_S)


async def there(farm, *images) -> list[bool]:
    """Whether the images' files are there, and their images say so."""
    found = []
    for image in images:
        now = await farm.store.image(image.id)
        try:
            await farm.artefacts.local(image.digest)
            is_file = True
        except ArtefactMissingError:
            is_file = False
        assert is_file or now.state != "built", "an image claims what is not there"
        found.append(is_file)
    return found


async def test_old_kernels_go_and_young_ones_stay(farm, store_kernel):
    old = await store_kernel(3)
    later(farm, 60)
    young = await store_kernel(4)
    later(farm, 40)
    await Retention(farm).advance()
    assert await there(farm, old, young) == [False, True]
    assert [row.digest for row in await farm.store.artefacts()] == [young.digest]


async def test_what_went_is_built_again_when_it_is_asked_for(farm, store_kernel, past):
    old = await store_kernel(3)
    later(farm, 100)
    await Retention(farm).advance()
    image = await ask_image(farm, BuildTarget(sha=past.shas[3], position=3, label="r3"))
    assert (image.id, image.state) == (old.id, "wanted")
    assert image.digest == old.digest


async def test_ends_and_culprits_of_searches_stay(farm, store_kernel, past):
    images = {position: await store_kernel(position) for position in range(1, 12)}
    step = Step(old=4, new=5, effect=-0.2, low=-0.21, high=-0.19, probability=0.99)
    answer = Answer(steps=(step,), reproduced=True, unresolved=(), reason="")
    await past.search(old=1, new=11, state="found", answer=answer)
    later(farm, 100)
    await Retention(farm).advance()
    left = [position for position, image in images.items() if (await there(farm, image))[0]]
    assert left == [1, 5, 6, 11]


async def test_all_of_a_running_searchs_range_stays(farm, store_kernel, past):
    images = [await store_kernel(position) for position in (2, 5, 12)]
    await past.search(old=1, new=11)
    later(farm, 100)
    await Retention(farm).advance()
    assert await there(farm, *images) == [True, True, False]


async def test_what_the_lab_is_asked_for_stays(farm, store_kernel, past):
    images = [await store_kernel(position) for position in range(3, 8)]
    await past.probe(images[0])
    await past.probe(images[1], state="issued")
    await past.probe(images[2], reason="control", state="done")
    await past.probe(images[3], state="done")
    await farm.store.change(images[4], changed_at=farm.now(), state="untestable")
    later(farm, 100)
    await Retention(farm).advance()
    assert await there(farm, *images) == [True, True, True, False, False]


async def test_both_sides_of_a_comparison_stay(farm, store_kernel):
    images = [await store_kernel(position) for position in (4, 5, 6)]
    await ComparisonRequests(farm).start(ComparisonQuestion(variants=("r4", "r5")), "ann")
    later(farm, 100)
    await Retention(farm).advance()
    assert await there(farm, *images) == [True, True, False]


async def test_too_many_bytes_go_oldest_first(make_farm, store_kernel):
    farm = make_farm(("mail:", "artefacts: {retention: {max-gib: 0.000002}}\nmail:"))
    images = []
    for position in (3, 4, 5):
        images.append(await store_kernel(position))
        later(farm, 1)
    await Retention(farm).advance()
    assert await there(farm, *images) == [False, True, True]


@pytest.mark.parametrize("last", ["release_artefact", "delete"])
async def test_a_master_that_dies_meanwhile_leaves_it_to_the_next(
    farm, store_kernel, monkeypatch, last
):
    old = await store_kernel(3)
    later(farm, 100)
    dying = farm.artefacts if last == "delete" else farm.store
    whole = getattr(dying, last)

    async def die_after(*arguments):
        await whole(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr(dying, last, die_after, raising=True)
        with pytest.raises(KeyboardInterrupt):
            await Retention(farm).advance()
    await there(farm, old)
    await Retention(farm).advance()
    assert await there(farm, old) == [False]
    assert await farm.store.artefacts() == []


async def test_an_upload_that_no_image_came_of_goes(farm):
    incoming = farm.artefacts.incoming("build-1")
    incoming.write_bytes(b"half a build")
    artefact = await farm.artefacts.look(incoming)
    await farm.store.keep_artefact(digest=artefact.digest, size=artefact.size, now=farm.now())
    await farm.artefacts.adopt(incoming, artefact)
    later(farm, 1)
    await Retention(farm).advance()
    with pytest.raises(ArtefactMissingError):
        await farm.artefacts.local(hashlib.sha256(b"half a build").hexdigest())


async def test_a_probe_whose_kernel_went_has_it_built_again(farm, store_kernel, past, master):
    image = await store_kernel(3)
    probe = await past.probe(image)
    await farm.store.release_artefact(image.digest)
    await Collector(farm, master).collect()
    await Issuer(farm, master).issue()
    assert [request.reason for request in master.requests] == ["build r3"]
    assert (await farm.store.probe(probe.id)).state == "new"


async def test_it_looks_daily_and_goes_on_at_once_when_there_is_more(farm, past):
    for n in range(AT_ONCE + 2):
        digest = hashlib.sha256(b"%d" % n).hexdigest()
        await farm.store.keep_artefact(digest=digest, size=1, now=farm.now())
    later(farm, 100)
    retention = Retention(farm)
    await retention.advance()
    assert len(await farm.store.artefacts()) == 2
    await retention.advance()
    assert await farm.store.artefacts() == []
    await farm.store.keep_artefact(digest="0" * 64, size=1, now=farm.now() - 100 * DAY_S)
    await retention.advance()
    assert len(await farm.store.artefacts()) == 1
    farm.master.reactor.advance(LOOK_EVERY_S)
    await retention.advance()
    assert await farm.store.artefacts() == []


async def test_what_would_go_can_be_seen_before(farm, store_kernel, past):
    await store_kernel(3)
    await past.probe(await store_kernel(4))
    later(farm, 100)
    found = await kernels(farm)
    assert (found["count"], found["bytes"], found["needed"]) == (2, 2 * SIZE, 1)
    assert (found["expired"], found["expired_bytes"]) == (1, SIZE)
    assert len(await farm.store.artefacts()) == 2


@pytest.fixture
def with_list(farm, store_kernel):
    """A kernel whose build read a file, by its image."""

    async def store(position: int, name: str = ""):
        read = ReadFiles(names=frozenset({name or f"sys/net/{position}.c"}))
        image = await store_kernel(position)
        digest = await farm.store.keep_read_files(pack_read_files(read))
        return await farm.store.change(image, changed_at=farm.now(), read_files=digest)

    return store


@pytest.mark.both_databases
async def test_the_list_of_what_a_build_read_goes_with_its_kernel(farm, with_list):
    old = await with_list(3)
    shared = [await with_list(4, "sys/net/if.c")]
    later(farm, 100)
    shared.append(await with_list(5, "sys/net/if.c"))
    young = await with_list(6)
    await Retention(farm).advance()
    one, other = [(await farm.store.image(image.id)).read_files for image in shared]
    assert (one, other) == (None, shared[0].read_files)
    lists = [image.read_files for image in (old, young, *shared)]
    assert set(await farm.store.read_files(lists)) == {young.read_files, other}


async def test_lists_stay_that_a_search_or_a_report_needs(farm, with_list, past):
    lists = {p: (await with_list(p)).read_files for p in (1, 3, 5, 8, 12)}
    await past.search(old=5, new=11)
    found = await past.search(old=1, new=4, state="found", answer=Answer(
        steps=(), reproduced=True, unresolved=(), reason="",
    ))  # fmt: skip
    assert found.old_position == 1
    for image in await farm.store.images():
        await farm.artefacts.delete(image.digest)
        await farm.store.release_artefact(image.digest)
        await farm.store.forget_artefact(image.digest)
    later(farm, 100)
    await Retention(farm).advance()
    kept = await farm.store.read_files(list(lists.values()))
    assert [position for position, digest in lists.items() if digest in kept] == [1, 5, 8]


async def test_lists_stay_that_new_commits_are_held_against(farm, with_list, past):
    old = (await with_list(3)).read_files
    await past.commits(*range(1, 12))
    later(farm, 100)
    await Retention(farm).advance()
    assert set(await farm.store.read_files([old])) == {old}


async def test_the_list_of_a_kernel_that_does_not_boot_stays_as_long_as_others(farm, with_list):
    image = await with_list(3)
    await farm.store.change(image, changed_at=farm.now(), state="untestable")
    digest = image.read_files
    for days, kept in ((2, {digest}), (100, set())):
        later(farm, days)
        await Retention(farm).advance()
        assert set(await farm.store.read_files([digest])) == kept


async def test_old_logs_go_and_what_was_measured_stays(make_farm, published):
    farm = make_farm(("regression:", "artefacts: {retention: {logs-days: 30}}\nregression:"))
    past = Past(farm, published[2])
    await past.commits(1, 2, 3)
    await past.search(1, 3, state="found", ended_at=farm.now())
    probes = {}
    for position, days in ((1, 0), (2, 31), (3, 0)):
        probes[position] = await past.probe(await past.image(position), state="done")
        await past.add(probes[position], 0, 1e6, log="1000000 pps")
        later(farm, days)
    await Retention(farm).advance()
    kept = {}
    for position, probe in probes.items():
        (row,) = await farm.store.iterations_of_probe(probe.id)
        assert row.value == 1e6
        kept[position] = row.log != DELETED
    assert kept == {1: True, 2: False, 3: True}
