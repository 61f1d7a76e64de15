"""Two repositories hold the same commits at the same positions, and no query mixes them."""

from dataclasses import replace

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from buildbot_bench.plugin.db.columns import (
    ImageState,
    JudgementState,
    Priority,
    ProbeReason,
    SearchReason,
)
from buildbot_bench.plugin.db.finding_rows import NewJudgement, NewSearch
from buildbot_bench.plugin.db.rows import NewCommit, ProbeRequest
from buildbot_bench.plugin.db.schema import METADATA
from tests.fakes.database import iterated

MAIN, FORK = "main", "fork:main"
COMMITS = range(1, 7)


def sha(position: int) -> str:
    return f"{position:040x}"


async def image(store, branch: str, position: int, ordinal: int = 0):
    asked = {"sha": sha(position), "variant": sha(position), "position": position, "label": "n"}
    return await store.ensure_image(**asked, ordinal=ordinal, branch=branch, now=1.0)


async def both(store) -> None:
    rows = [NewCommit(sha=sha(n), position=n, subject="x") for n in COMMITS]
    for branch in (MAIN, FORK):
        await store.add_commits(branch, rows)


async def measure(store, row, *, reason: ProbeReason = ProbeReason.COMMIT):
    request = ProbeRequest(
        image_id=row.id,
        testbed="apu",
        workload="forwarding",
        iterations=1,
        reason=reason,
        priority=Priority.COMMIT,
    )
    probe = await store.ensure_probe(request, token="t", now=2.0)
    await iterated(store, probe, 100.0 + row.id, at_s=3.0)
    return probe


async def test_the_same_commit_has_an_image_in_each_repository(store):
    ours, theirs = await image(store, MAIN, 3), await image(store, FORK, 3)
    assert ours.id != theirs.id
    assert (ours.repository, theirs.repository) == ("", "fork")
    assert (await image(store, FORK, 3)).id == theirs.id
    assert (await store.image_of(sha(3), 0, "")).id == ours.id
    assert (await store.image_of(sha(3), 0, "fork")).id == theirs.id


async def test_a_commit_that_is_measured_in_one_is_not_so_in_the_other(store):
    await both(store)
    await measure(store, await image(store, MAIN, 6))
    lacking = {
        branch: [row.position for row in await store.unmeasured(branch, ("apu", "forwarding"))]
        for branch in (MAIN, FORK)
    }
    assert lacking == {MAIN: [5, 4, 3, 2, 1], FORK: [6, 5, 4, 3, 2, 1]}
    assert await store.asked_commits(FORK, ("apu", "forwarding"), 0) == []
    assert {one.branch for one in await store.asked_since(0)} == {MAIN}
    assert await store.measured_by(sha(6), "") == [("apu", "forwarding")]
    assert await store.measured_by(sha(6), "fork") == []
    assert [row.position for row in await store.unbuilt_commits(FORK, 0)] == [*COMMITS]


async def test_judgements_of_the_same_two_commits_are_two(store):
    new = NewJudgement(
        testbed="apu",
        workload="forwarding",
        unit="pps",
        old_sha=sha(1),
        old_position=1,
        new_sha=sha(2),
        new_position=2,
        state=JudgementState.REGRESSION,
        branch=MAIN,
    )
    rows = [
        await store.ensure_judgement(replace(new, branch=branch), now=1.0)
        for branch in (MAIN, FORK)
    ]
    assert rows[0].id != rows[1].id
    for row, branch, repository in zip(rows, (MAIN, FORK), ("", "fork"), strict=True):
        assert [one.id for one in await store.alarms_over(branch, 0, 9)] == [row.id]
        found = await store.judgements_of_commit(sha(2), repository)
        assert found["apu", "forwarding"].id == row.id


async def search_over(store, branch: str, old: int, new: int):
    wanted = NewSearch(
        key=None,
        branch=branch,
        testbed="apu",
        workload="forwarding",
        unit="pps",
        old_sha=sha(old),
        old_position=old,
        new_sha=sha(new),
        new_position=new,
        min_effect=0.02,
        error=0.01,
        reason=SearchReason.PERSON,
        requester="ann",
    )
    return await store.add_search(wanted, now=1.0)


async def test_news_of_one_repository_is_none_of_the_others(store):
    searches = {branch: await search_over(store, branch, 1, 5) for branch in (MAIN, FORK)}
    before = await store.versions_of_ranges()
    row = await image(store, FORK, 3)
    await store.change(row, changed_at=2.0, state=ImageState.UNTESTABLE)
    after = await store.versions_of_ranges()
    changed = {
        branch
        for branch, search in searches.items()
        if before.get(search.id) != after.get(search.id)
    }
    assert changed == {FORK}
    assert await store.last_untestable({"", "fork"}) == {"fork": 3}
    seen = await store.versions_since({MAIN: 0, FORK: 0})
    assert (seen[MAIN][0], seen[FORK][0]) == (0, 1)
    over = await store.searches_over(("apu", "forwarding"), 0, 9, repository="fork")
    assert [one.id for one in over] == [searches[FORK].id]


async def test_what_is_asked_of_a_repository_that_is_gone_is_found(store):
    ours, theirs = await image(store, MAIN, 2), await image(store, FORK, 2)
    await measure(store, ours)
    probe = await measure(store, theirs)
    assert await store.open_probes_elsewhere(("",)) == {probe.id: "fork"}
    assert await store.open_probes_elsewhere(("", "fork")) == {}
    assert [row.id for row in await store.unbuilt_elsewhere(("",))] == [theirs.id]


places = st.lists(
    st.tuples(st.sampled_from((MAIN, FORK)), st.sampled_from(COMMITS)), unique=True, max_size=12
)


@given(measured=places, span=st.tuples(st.sampled_from(COMMITS), st.sampled_from(COMMITS)))
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_is_measured_where_a_range_has_its_own_repositorys_alone(
    store, engine, measured, span
):
    with engine.begin() as conn:
        for table in reversed(METADATA.sorted_tables):
            conn.execute(sa.delete(table))
    done = Deferred.fromCoroutine(assert_not_mixed(store, measured, *sorted(span)))
    assert done.called
    failures: list[Failure] = []
    done.addErrback(failures.append)
    for failure in failures:
        failure.raiseException()


async def assert_not_mixed(store, measured, first: int, last: int) -> None:
    await both(store)
    for branch, position in measured:
        await measure(store, await image(store, branch, position))
    for branch, repository in ((MAIN, ""), (FORK, "fork")):
        inside = sorted(p for of, p in measured if of == branch and first <= p <= last)
        found = await store.all_images_between(first, last, repository)
        assert [row.position for row in found] == inside
        assert {row.repository for row in found} <= {repository}
        for line in ({"branch": branch}, {"history_of": branch}):
            samples = await store.samples(("apu", "forwarding"), (first, last), **line)
            assert [one.position for one in samples] == inside
        points = await store.points(("apu", "forwarding"), branch)
        assert [one.position for one in points] == sorted(p for of, p in measured if of == branch)
