"""Lines of branches: what is a branch's own, what is its trunk's, and what is of neither."""

import pytest

from buildbot_bench.plugin.db.columns import JudgementState
from buildbot_bench.plugin.db.commits import Segment, is_on
from buildbot_bench.plugin.db.finding_rows import NewJudgement
from buildbot_bench.plugin.db.rows import NewCommit

MAIN, STABLE, RELENG = "main", "stable/14", "releng/14.0"


def sha(branch: str, position: int) -> str:
    return f"{[MAIN, STABLE, RELENG].index(branch) + 1:x}{position:039x}"


async def three(store) -> None:
    """Main has 1 to 9; stable/14 parts at 4 and has 5 to 9; releng/14.0 parts at 6: 7 and 8."""
    await store.keep_branch(STABLE, trunk=MAIN, fork_position=4)
    await store.keep_branch(RELENG, trunk=STABLE, fork_position=6)
    for branch, positions in ((MAIN, range(1, 10)), (STABLE, range(5, 10)), (RELENG, (7, 8))):
        rows = [NewCommit(sha=sha(branch, n), position=n, subject="x") for n in positions]
        await store.add_commits(branch, rows)


async def image_of(store, branch: str, position: int, *, of: str | None = "itself"):
    """The image of a branch's commit; `of` is the branch that the tables say it is of."""
    name = sha(branch, position)
    asked = {"sha": name, "variant": name, "ordinal": 0, "position": position, "label": "n"}
    return await store.ensure_image(**asked, branch=branch if of == "itself" else of, now=1.0)


async def test_a_line_is_made_of_what_each_trunk_has_up_to_where_one_parts(store):
    await three(store)
    assert await store.line_of(MAIN) == (Segment(branch=MAIN),)
    assert await store.line_of(RELENG) == (
        Segment(branch=RELENG, after=6),
        Segment(branch=STABLE, after=4, last=6),
        Segment(branch=MAIN, last=4),
    )
    assert await store.line_of("nonsense") == (Segment(branch="nonsense"),)


async def test_a_branch_that_parts_from_a_trunk_before_that_one_parted_has_nothing_of_it(store):
    await store.keep_branch(STABLE, trunk=MAIN, fork_position=6)
    await store.keep_branch(RELENG, trunk=STABLE, fork_position=3)
    line = await store.line_of(RELENG)
    assert line[-1] == Segment(branch=MAIN, last=3)
    assert not is_on(line, STABLE, 7)


async def test_branches_whose_trunks_lead_in_a_circle_end(store):
    await store.keep_branch(STABLE, trunk=RELENG, fork_position=4)
    await store.keep_branch(RELENG, trunk=STABLE, fork_position=4)
    assert [one.branch for one in await store.line_of(STABLE)] == [STABLE, RELENG]


@pytest.mark.parametrize(
    ("branch", "position", "of"),
    [
        (MAIN, 5, MAIN),
        (STABLE, 4, MAIN),
        (STABLE, 5, STABLE),
        (RELENG, 6, STABLE),
        (RELENG, 4, MAIN),
    ],
)
async def test_a_commit_at_a_position_is_that_of_the_line(store, branch, position, of):
    await three(store)
    assert (await store.commit_at(branch, position)).sha == sha(of, position)


async def test_images_of_other_branches_at_the_same_positions_are_left_out(store):
    await three(store)
    shared, ours, theirs = [
        await image_of(store, branch, position)
        for branch, position in ((MAIN, 3), (STABLE, 7), (MAIN, 7))
    ]
    assert await store.images_between(1, 9, branch=STABLE) == [shared, ours]
    assert await store.images_between(1, 9, branch=MAIN) == [shared, theirs]
    assert await store.images_between(1, 9, branch=RELENG) == [shared]
    assert await store.image_at(STABLE, 3) == shared


async def test_an_image_of_a_commit_from_before_the_farm_is_of_the_branch_that_has_it(store):
    await store.keep_branch(MAIN, trunk=None, fork_position=0)
    await store.keep_branch(STABLE, trunk=MAIN, fork_position=4)
    shared = await image_of(store, MAIN, 2)
    ours = await image_of(store, STABLE, 6)
    theirs = await image_of(store, MAIN, 6)
    stray = await image_of(store, RELENG, 6, of="")
    old = await image_of(store, RELENG, 8, of=None)
    assert await store.images_of_history(STABLE, 1, 9) == [shared, ours, old]
    assert await store.images_of_history(MAIN, 1, 9) == [shared, theirs, old]
    assert stray not in await store.images_of_history(RELENG, 1, 9)


async def test_what_was_judged_on_another_branch_is_nothing_to_this_one(store):
    await three(store)
    for branch, position in ((MAIN, 3), (MAIN, 7), (STABLE, 7)):
        judged = NewJudgement(
            testbed="apu",
            workload="forwarding",
            unit="pps",
            old_sha="",
            old_position=0,
            new_sha=sha(branch, position),
            new_position=position,
            state=JudgementState.REGRESSION,
            branch=branch,
        )
        await store.ensure_judgement(judged, now=1.0)

    async def known(branch: str) -> list[str]:
        rows = await store.closed_judgements(("apu", "forwarding"), 0, branch)
        assert rows == await store.alarms_over(branch, 0, 9)
        return [row.new_sha for row in rows]

    assert await known(MAIN) == [sha(MAIN, 3), sha(MAIN, 7)]
    assert await known(STABLE) == [sha(MAIN, 3), sha(STABLE, 7)]
    assert await known(RELENG) == [sha(MAIN, 3)]


async def test_only_a_branchs_own_commits_wait_to_be_measured_for_it(store):
    await three(store)

    async def waiting(branch: str) -> list[int]:
        return [row.position for row in await store.unmeasured(branch, ("apu", "forwarding"))]

    assert await waiting(MAIN) == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert await waiting(STABLE) == [9, 8, 7, 6, 5]
    assert await waiting(RELENG) == [8, 7]


async def test_a_commit_is_of_the_branch_that_was_watched_first(store):
    await three(store)
    await store.add_commits(MAIN, [NewCommit(sha=sha(STABLE, 9), position=10)])
    assert await store.branch_of(sha(STABLE, 9), "") == STABLE
    assert await store.branch_of(sha(MAIN, 2), "") == MAIN
    assert await store.branch_of("0" * 40, "") is None


async def test_a_branch_with_a_name_that_is_code_is_a_name(store):
    name = "x'; DROP TABLE bench_commit; --<script>\0"
    await store.add_commits(name, [NewCommit(sha="a" * 40, position=1)])
    assert (await store.newest_commit(name)).sha == "a" * 40
    assert len(await store.branches()) == 1
