"""How commits come in: from the mirror, all of them, each once."""

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.db.schema import COMMIT
from buildbot_bench.plugin.farm import Farm
from tests.fakes.database import rows_of
from tests.fakes.past import Past
from tests.gitrepo import Commit, add_commits, git, numbered


@pytest.fixture
def farm(make_farm, source) -> Farm:
    return make_farm(repository=source)


async def known(farm) -> list[str]:
    return [
        row.revision.label for row in await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    ]


async def test_of_a_branch_that_is_seen_for_the_first_time_only_the_tip_is_taken(farm):
    await CommitWatch(farm).advance()
    assert await known(farm) == ["r3"]


async def test_the_first_tip_is_measured_whatever_it_touches(farm, source):
    add_commits(source, [Commit(files={"doc/readme": "x"}, svn=4)])
    await CommitWatch(farm).advance()
    (tip,) = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert (tip.revision.label, tip.important) == ("r4", True)


async def test_a_burst_comes_in_whole_and_in_its_order(farm, source):
    await CommitWatch(farm).advance()
    add_commits(source, numbered(4, 203))
    await CommitWatch(farm).advance()
    assert await known(farm) == [f"r{n}" for n in range(3, 204)]


async def test_looking_again_adds_nothing(farm, source):
    await CommitWatch(farm).advance()
    add_commits(source, numbered(4, 5))
    for _ in range(2):
        await CommitWatch(farm).advance()
    assert await known(farm) == ["r3", "r4", "r5"]


async def test_a_commit_is_kept_with_all_that_a_mail_says_of_it(farm, source, master):
    await CommitWatch(farm).advance()
    (sha,) = add_commits(
        source,
        [Commit(files={"sys/k.c": "x"}, subject="em: go slower", author="Eve <eve@x.org>", svn=4)],
    )
    await CommitWatch(farm).advance()
    row = await farm.store.newest_commit("main")
    assert (row.sha, row.position, row.svn, row.subject) == (sha, 4, 4, "em: go slower")
    assert row.author.startswith("Eve")
    assert row.arrived_at == master.reactor.seconds()


async def test_commits_that_touch_no_watched_path_come_in_as_unimportant(farm, source):
    await CommitWatch(farm).advance()
    add_commits(
        source,
        [Commit(files={"doc/readme": "x"}, svn=4), Commit(files={"sys/kernel.c": "y"}, svn=5)],
    )
    await CommitWatch(farm).advance()
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert [row.important for row in rows][1:] == [False, True]


async def test_a_forced_push_replaces_what_the_branch_had_from_there_on(farm, source):
    await CommitWatch(farm).advance()
    shas = add_commits(source, numbered(4, 6))
    await CommitWatch(farm).advance()
    rewritten = add_commits(source, [Commit(files={"sys/k.c": "other"})], on=shas[0])
    await CommitWatch(farm).advance()
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert [row.sha for row in rows][1:] == [shas[0], *rewritten]


async def test_a_branch_that_is_moved_back_has_what_it_has_now_at_once(farm, source):
    await CommitWatch(farm).advance()
    shas = add_commits(source, numbered(4, 6))
    await CommitWatch(farm).advance()
    git(source, "update-ref", "refs/heads/main", shas[0])
    await CommitWatch(farm).advance()
    assert await known(farm) == ["r3", "r4"]
    git(source, "update-ref", "refs/heads/main", shas[2])
    await CommitWatch(farm).advance()
    assert await known(farm) == ["r3", "r4", "r5", "r6"]


async def test_a_branch_that_is_moved_back_behind_all_that_is_known_has_its_tip(farm, source):
    await CommitWatch(farm).advance()
    git(source, "update-ref", "refs/heads/main", "main~1")
    await CommitWatch(farm).advance()
    assert await known(farm) == ["r2"]


async def test_no_commit_of_a_branch_that_was_replaced_by_a_shorter_one_stays(farm, source):
    """Only the tip was known, and no row is where the new commits are."""
    add_commits(source, numbered(4, 9))
    await CommitWatch(farm).advance()
    rewritten = add_commits(source, [Commit(files={"sys/k.c": "other"})], on="main~4")
    await CommitWatch(farm).advance()
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert [row.sha for row in rows] == rewritten


async def test_a_branch_of_another_history_replaces_it(farm, source):
    await CommitWatch(farm).advance()
    root = git(source, "commit-tree", "-m", "from nothing", "main^{tree}")
    git(source, "update-ref", "refs/heads/main", root)
    await CommitWatch(farm).advance()
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert [row.sha for row in rows] == [root]


async def test_what_was_measured_of_dropped_commits_stays_and_is_no_history(farm, source):
    await CommitWatch(farm).advance()
    shas = add_commits(source, numbered(4, 6))
    await CommitWatch(farm).advance()
    past = Past(farm, dict(enumerate(shas, start=4)))
    for position in (4, 5, 6):
        await past.measured(position, [100.0, 101.0])

    async def history() -> list[int]:
        rows = await farm.store.export(("apu", "forwarding"), "main", limit=1000)
        return sorted({row.position for row in rows})

    assert await history() == [4, 5, 6]
    git(source, "update-ref", "refs/heads/main", shas[0])
    await CommitWatch(farm).advance()
    assert await history() == [4]
    git(source, "update-ref", "refs/heads/main", shas[2])
    await CommitWatch(farm).advance()
    assert await history() == [4, 5, 6]


async def test_a_branch_that_was_cut_back_gets_its_next_commits_all_the_same(farm, source):
    await CommitWatch(farm).advance()
    shas = add_commits(source, numbered(4, 6))
    await CommitWatch(farm).advance()
    later = add_commits(source, numbered(7, 9), on=shas[0])
    await CommitWatch(farm).advance()
    assert (await farm.store.newest_commit("main")).sha == later[-1]


async def test_each_watched_branch_is_looked_at(make_farm, source):
    farm = make_farm(("branches: [main]", "branches: [main, stable]"), repository=source)
    make_side = add_commits(source, [Commit(files={"sys/k.c": "s"})], branch="stable")
    await CommitWatch(farm).advance()
    assert (await farm.store.newest_commit("stable")).sha == make_side[0]
    assert await known(farm) == ["r3"]


async def test_a_repository_that_is_away_is_the_labs_trouble_and_changes_nothing(
    farm, source, tmp_path
):
    await CommitWatch(farm).advance()
    source.rename(tmp_path / "gone")
    with pytest.raises(InfraError):
        await CommitWatch(farm).advance()
    assert await known(farm) == ["r3"]


async def test_a_farm_that_watches_no_pushes_still_mirrors_what_people_ask_about(make_farm, source):
    push = "  push:\n    branches: [main]\n    paths: [sys/**]\n"
    farm = make_farm((push, ""), repository=source)
    await CommitWatch(farm).advance()
    assert await known(farm) == []
    assert farm.history.resolve("r2").position == 2
