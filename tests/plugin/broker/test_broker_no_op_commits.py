"""A commit that touches nothing that the kernel is built from is not built for its own sake."""

import pytest

from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.commit_watch import NoOpCommits
from buildbot_bench.plugin.db.rows import NewCommit
from tests.fakes.past import Past
from tests.fakes.removed import no_errors
from tests.gitrepo import Commit, make_repository

CHANGED = {
    1: "sys/a.c",
    2: "sys/a.c",
    3: "README.md",
    4: "sys/b.c",
    5: "sys/other.c",
    6: "sys/other.c",
}
READ = frozenset({"sys/a.c", "sys/b.c"})
BEGINNING = dict.fromkeys([*CHANGED.values(), "sys/c.c"], "0\n")
LATEST = max(CHANGED)


@pytest.fixture
def farm(make_farm, tmp_path):
    """A farm whose revisions change those files; r1 adds them all."""
    commits = [Commit(files=BEGINNING, subject="Import")]
    commits += [
        Commit(files={CHANGED[n]: f"{n}\n"}, subject=f"Change {n}") for n in range(2, LATEST + 1)
    ]
    source = tmp_path / "src"
    shas = make_repository(source, commits)
    farm = make_farm(repository=source)
    farm.history.fetch()
    farm.shas = dict(enumerate(shas, start=1))
    return farm


@pytest.fixture
def past(farm) -> Past:
    return Past(farm, farm.shas)


async def built(past: Past, position: int, read=READ, *, job: str | None = None) -> None:
    """A build of a revision that is measured, and read those files."""
    farm = past.farm
    body = read if isinstance(read, bytes) else pack_read_files(ReadFiles(names=read))
    digest = await farm.store.keep_read_files(body)
    built_by = job or farm.workflow.build_digest_of("")
    image = await past.image(position, read_files=digest, built_by=built_by)
    await past.measured(image, (1e6, 1e6, 1e6))


async def presumed(farm) -> dict[int, str]:
    """The label of the build on which the presumption rests, by position."""
    await NoOpCommits(farm).look(await farm.store.newest_commits(["main"]))
    return {row.position: row.no_op_of for row in await farm.store.presumed_no_ops("main")}


@pytest.mark.both_databases
async def test_commits_that_touch_nothing_that_was_read_are_presumed_no_op_changes(farm, past):
    await past.commits(*CHANGED)
    await built(past, 1)
    assert await presumed(farm) == {3: "r1", 5: "r1", 6: "r1"}


async def test_they_are_not_asked_for_however_new_they_are(farm, past):
    await past.commits(*CHANGED)
    await built(past, 1)
    asked = []
    for _ in range(LATEST):
        await CommitQueue(farm).advance()
        for probe in await farm.store.probes(state="new"):
            image = await farm.store.image(probe.image_id)
            asked.append(image.position)
            await past.farm.store.change(probe, state="done")
    assert asked == [4, 2]


async def test_without_a_list_nothing_is_presumed(farm, past):
    await past.commits(*CHANGED)
    await past.measured(await past.image(1), (1e6,))
    assert await presumed(farm) == {}


async def test_what_comes_before_the_first_list_is_not_presumed(farm, past):
    await past.commits(*CHANGED)
    await built(past, 4)
    assert await presumed(farm) == {5: "r4", 6: "r4"}


@pytest.mark.parametrize("read", [b"no list", pack_read_files(ReadFiles(names=READ))[:-4]])
async def test_a_list_that_cannot_be_read_says_nothing(farm, past, read):
    await past.commits(*CHANGED)
    await built(past, 1, read)
    assert await presumed(farm) == {}


async def test_what_another_job_read_does_not_count(farm, past):
    await past.commits(*CHANGED)
    await built(past, 1, job="with other modules")
    assert await presumed(farm) == {}


async def test_a_later_list_takes_the_presumption_back(farm, past):
    """r4 has other.c compiled: what changes it is a change of the kernel from then on."""
    await past.commits(*CHANGED)
    await built(past, 1)
    assert await presumed(farm) == {3: "r1", 5: "r1", 6: "r1"}
    await built(past, 4, READ | {"sys/other.c"})
    assert await presumed(farm) == {3: "r1"}


async def test_what_either_neighbour_reads_counts(farm, past):
    """other.c is no part of the kernel any more in r6, and r5 may be why."""
    await past.commits(*CHANGED)
    await built(past, 1, READ | {"sys/other.c"})
    await built(past, 6)
    assert await presumed(farm) == {3: "r1"}


async def test_what_was_asked_for_is_left_alone(farm, past):
    await past.commits(*CHANGED)
    await built(past, 1)
    await past.image(3, state="wanted")
    assert await presumed(farm) == {5: "r1", 6: "r1"}


async def test_what_comes_while_the_queue_looks_is_not_asked_for_unseen(farm, past):
    await past.commits(1)
    await built(past, 1)
    store, unbuilt = farm.store, farm.store.unbuilt_commits

    async def meanwhile(*arguments):
        found = await unbuilt(*arguments)
        await past.commits(2, 3)
        return found

    store.unbuilt_commits = meanwhile
    queue = CommitQueue(farm)
    await queue.advance()
    assert await store.probes(state="new") == []
    await queue.advance()
    (probe,) = await store.probes(state="new")
    assert (await store.image(probe.image_id)).position == 2


async def test_a_mirror_that_cannot_be_read_keeps_no_commit_from_being_measured(farm, past):
    await past.commits(1)
    await built(past, 1)
    await farm.store.add_commits("main", [NewCommit(sha="f" * 40, position=2)])
    with no_errors():
        await CommitQueue(farm).advance()
    (probe,) = await farm.store.probes(state="new")
    assert (await farm.store.image(probe.image_id)).position == 2


async def test_commits_are_looked_at_again_only_when_there_is_news(farm, past):
    await past.commits(*CHANGED)
    await built(past, 1)
    watch = NoOpCommits(farm)
    tips = await farm.store.newest_commits(["main"])
    await watch.look(tips)
    farm.history = None
    assert not await watch.look(tips)
