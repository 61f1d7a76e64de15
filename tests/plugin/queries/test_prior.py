"""What a search expects of its commits, by what they touch."""

import pytest

from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.core.touched import Touch
from buildbot_bench.plugin.queries.evidence import gather
from tests.fakes.past import TESTBED, WORKLOAD, Past
from tests.gitrepo import Commit, make_repository

CHANGED = {2: "sys/hot.c", 3: "README.md", 4: "sys/cold.c", 5: "bin/cat.c", 6: "sys/cold.c"}
READ = frozenset(set(CHANGED.values()) & {"sys/hot.c", "sys/cold.c"})
HOT = {"ip_input": "/home/worker/build/sys/hot.c:17", "memcpy": "sys/lib/string.c:3"}
LATEST = max(CHANGED)


@pytest.fixture
def past(make_farm, tmp_path) -> Past:
    commits = [Commit(files=dict.fromkeys(CHANGED.values(), "1"))]
    commits += [Commit(files={path: str(n)}) for n, path in CHANGED.items()]
    shas = make_repository(tmp_path / "src", commits)
    farm = make_farm(repository=tmp_path / "src")
    farm.history.fetch()
    return Past(farm, dict(enumerate(shas, start=1)))


async def build(past: Past, position: int, read: frozenset[str] = READ, **columns):
    body = pack_read_files(ReadFiles(names=read))
    digest = await past.farm.store.keep_read_files(body)
    return await past.image(position, read_files=digest, **columns)


async def prior(past: Past, old: int = 1, new: int = LATEST, **columns):
    return (await gather(past.farm, await past.search(old, new, **columns))).prior


async def capture(past: Past, places: dict[str, str], *, at_s: float = 1.0, **series) -> None:
    store = past.farm.store
    asked = {"testbed": TESTBED, "workload": WORKLOAD} | series
    image = await past.image(1)
    row = await store.ensure_profile(
        key=f"past:{at_s}:{asked}", token="t", image_id=image.id, now=at_s, **asked
    )
    kept = await store.add_capture(
        counter="executed instructions", folded="a 1\n", taken_at=at_s, places=places
    )
    await store.change(row, state="done", digest=kept.digest, ended_at=at_s)


@pytest.mark.both_databases
async def test_commits_weigh_by_what_the_kernels_of_the_range_are_built_from(past):
    await build(past, 1)
    found = await gather(past.farm, await past.search(1, LATEST))
    kinds = [Touch.BUILT, Touch.NEITHER, Touch.BUILT, Touch.NEITHER, Touch.BUILT]
    assert list(found.prior.touches) == kinds
    assert found.policy.weights == found.prior.weights
    assert not found.prior.ran


@pytest.mark.both_databases
async def test_what_runs_under_the_workload_weighs_more(past):
    await build(past, 1)
    await capture(past, HOT)
    found = await prior(past)
    assert [touch.value for touch in found.touches] == [
        *("runs", "neither", "built", "neither", "built")
    ]
    assert found.weights[0] > found.weights[2] > found.weights[1]


@pytest.mark.parametrize(
    ("series", "at_s"),
    [({"workload": "ipfw"}, 1.0), ({}, 9.0)],
    ids=["of another workload", "taken after the search"],
)
async def test_a_capture_that_tells_nothing_of_the_search_does_not_count(past, series, at_s):
    await build(past, 1)
    await capture(past, HOT, at_s=at_s, **series)
    assert not (await prior(past, state="found", ended_at=5.0)).ran


async def test_the_testbeds_own_capture_counts_before_a_newer_one_elsewhere(past):
    await build(past, 1)
    await capture(past, HOT)
    await capture(past, {"ip6_input": "sys/cold.c:4"}, at_s=2.0, testbed="xeon")
    assert (await prior(past)).touches[0] is Touch.RUNS


async def test_what_any_build_of_the_range_reads_counts(past):
    await build(past, 1)
    await build(past, 5, READ | {"bin/cat.c"})
    assert (await prior(past)).touches.count(Touch.NEITHER) == 1


async def test_before_the_first_build_of_a_range_the_last_one_before_it_tells(past):
    await build(past, 1)
    assert (await prior(past, 3)).touches == (Touch.BUILT, Touch.NEITHER, Touch.BUILT)


async def test_known_no_op_changes_weigh_nothing(past):
    kernel = {"state": "built", "digest": "7" * 64, "size": 9}
    await build(past, 3, **kernel)
    await build(past, 4, **kernel)
    found = await prior(past)
    assert found.weights[2] == 0
    assert found.touches[2] is Touch.BUILT
    assert sum(found.weights) == pytest.approx(1)


async def test_without_lists_all_commits_weigh_the_same(past):
    await past.image(1)
    found = await gather(past.farm, await past.search(1, LATEST))
    assert found.prior is None
    assert found.policy.weights is None


async def test_a_list_that_is_damaged_tells_nothing(past):
    digest = await past.farm.store.keep_read_files(b"x")
    await past.image(1, read_files=digest)
    assert await prior(past) is None
