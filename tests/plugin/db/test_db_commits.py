"""The commits of a branch: none lost, none twice, a rewritten tail replaced."""

import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.commits import add_commits
from buildbot_bench.plugin.db.rows import CommitRow, NewCommit
from buildbot_bench.plugin.db.schema import COMMIT, METADATA
from buildbot_bench.plugin.db.sql import fetch_all
from tests.fakes.database import rows_of, sha


def line(first: int, last: int, *, fork: int = 0, **columns) -> list[NewCommit]:
    """The commits of a span; those of another `fork` have other hashes."""
    return [
        NewCommit(sha=sha(position + (fork << 64)), position=position, **columns)
        for position in range(first, last + 1)
    ]


async def test_a_burst_of_1600_commits_is_recorded_in_one_go(store):
    assert await store.add_commits("main", line(1, 1600)) == 1600
    assert len(await rows_of(store, COMMIT, CommitRow, branch="main")) == 1600


async def test_what_is_known_is_not_recorded_again(store):
    await store.add_commits("main", line(1, 10))
    assert await store.add_commits("main", line(5, 12)) == 2
    assert [row.position for row in await rows_of(store, COMMIT, CommitRow, branch="main")] == [
        *range(1, 13)
    ]


async def test_a_gap_is_filled_later(store):
    await store.add_commits("main", line(1, 3) + line(8, 9))
    assert await store.add_commits("main", line(4, 7)) == 4


async def test_a_rewritten_branch_forgets_its_old_tail(store):
    await store.add_commits("main", line(1, 10))
    assert await store.add_commits("main", line(5, 8, fork=1)) == 4
    rows = await rows_of(store, COMMIT, CommitRow, branch="main")
    assert [row.sha for row in rows] == [row.sha for row in line(1, 4) + line(5, 8, fork=1)]


async def test_a_rewritten_branch_may_come_back(store):
    await store.add_commits("main", line(1, 10))
    await store.add_commits("main", line(5, 8, fork=1))
    assert await store.add_commits("main", line(1, 10)) == 6


async def test_branches_do_not_disturb_each_other(store):
    await store.add_commits("main", line(1, 10))
    await store.add_commits("stable/12", line(4, 6, fork=1))
    assert (await store.newest_commit("main")).position == 10
    assert (await store.newest_commit("stable/12")).position == 6
    assert await store.newest_commit("stable/13") is None


async def test_a_revision_comes_back_as_it_was(store):
    revision = Revision(
        sha=sha(2), position=2, svn=311849, parent_sha=sha(1), subject="ixl: iflib",
        author="sbruno", committed_at_s=1484000000,
    )  # fmt: skip
    await store.add_commits("main", [NewCommit.of(revision, important=True, arrived_at=5.5)])
    row = await store.newest_commit("main")
    assert row.revision == revision
    assert row.arrived_at == 5.5


async def test_a_hostile_commit_message_is_recorded_nevertheless(store):
    await store.add_commits("main", line(1, 1, subject="\0\ud800'; DROP TABLE bench_commit; --"))
    row = await store.newest_commit("main")
    assert row.subject == "\ufffd\ufffd'; DROP TABLE bench_commit; --"


async def test_the_newest_important_commits_come_first(store):
    await store.add_commits("main", line(1, 3) + line(4, 5, important=False) + line(6, 7))
    found = await store.unmeasured("main", ("apu", "forwarding"), 2, limit=3)
    assert [row.position for row in found] == [7, 6, 3]


async def test_a_commit_that_was_asked_for_is_not_unmeasured(store, an_image, a_probe):
    await store.add_commits("main", line(1, 9))
    for position, reason in {9: "commit", 8: "backfill", 7: "search", 6: "commit"}.items():
        probe = await a_probe(await an_image(position), name=str(position), reason=reason)
        state = "cancelled" if position == 6 else "lost"
        await store.change(probe, state=state)
    found = await store.unmeasured("main", ("apu", "forwarding"), 6)
    assert [row.position for row in found] == [7, 6]
    elsewhere = await store.unmeasured("main", ("apu", "pf-statefull"), 8)
    assert [row.position for row in elsewhere] == [9, 8]


async def test_what_was_asked_for_since_a_request_is_told_by_series(store, an_image, a_probe):
    await store.add_commits("main", line(1, 9))
    assert await store.asked_since(0) == []
    for position, reason in {3: "commit", 5: "backfill", 8: "search"}.items():
        await a_probe(await an_image(position), name=str(position), reason=reason)
    (told,) = await store.asked_since(0)
    assert (told.branch, told.testbed, told.workload) == ("main", "apu", "forwarding")
    assert told.position == 5
    assert await store.asked_since(told.probe_id) == []


async def test_what_is_to_be_forgotten_is_counted_by_series(store, an_image, a_probe):
    await store.add_commits("main", line(1, 9))
    for position, state in {3: "cancelled", 5: "lost", 7: "lost", 8: "done"}.items():
        probe = await a_probe(await an_image(position), name=str(position), reason="commit")
        await store.change(probe, state=state, ended_at=float(position))
    assert await store.undone_commits(6.0) == {("apu", "forwarding"): (1, 1)}
    assert await store.undone_commits(9.0) == {("apu", "forwarding"): (1, 2)}


async def test_a_branch_that_was_rewritten_has_its_tip_no_more(store):
    await store.add_commits("main", line(1, 9))
    assert await store.have_commits([("main", sha(9))])
    assert not await store.have_commits([("other", sha(9))])
    await store.forget_commits("main", 8)
    assert not await store.have_commits([("main", sha(9))])


async def test_a_patched_variant_does_not_stand_for_its_commit(store, an_image, a_probe):
    await store.add_commits("main", line(1, 1))
    await a_probe(await an_image(1, variant=f"{sha(1)}+D8526"))
    assert len(await store.unmeasured("main", ("apu", "forwarding"), 1)) == 1


spans = st.tuples(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2))


@settings(deadline=None, max_examples=50)
@given(pushes=st.lists(spans, max_size=6))
def test_a_branch_is_what_was_pushed_last(pushes):
    """Against a model: a dictionary that forgets from the first commit that differs."""
    engine = sa.create_engine("sqlite://")
    METADATA.create_all(engine)
    known: dict[int, str] = {}
    with engine.begin() as conn:
        for first, length, fork in pushes:
            push = {row.position: row.sha for row in line(first, first + length, fork=fork)}
            forks = [at for at, name in push.items() if known.get(at, name) != name]
            kept = {at: name for at, name in known.items() if not forks or at < min(forks)}
            new = add_commits(conn, "main", line(first, first + length, fork=fork))
            assert new == len(push.keys() - kept.keys())
            known = kept | push
        found = fetch_all(conn, sa.select(COMMIT), CommitRow)
        assert {row.position: row.sha for row in found} == known
    engine.dispose()
