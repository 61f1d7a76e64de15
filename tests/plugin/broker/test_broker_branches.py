"""Several branches in one farm: each with a history of its own, what they share measured once."""

from collections.abc import Callable
from pathlib import Path

import pytest

from buildbot_bench.api.requests import ComparisonQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.db.schema import COMMIT
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import branch_to_name
from buildbot_bench.plugin.queries.comparisons import ComparisonViews
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from tests.fakes.database import rows_of
from tests.fakes.past import Past, boots
from tests.gitrepo import Commit, add_commits, git, numbered

USUAL = 1e6
PATTERNS = ("branches: [main]", "branches: [main, stable/*, releng/14.*]")


@pytest.fixture
def farm(make_farm, source) -> Farm:
    return make_farm(PATTERNS, repository=source)


async def own_rows(farm: Farm, branch: str) -> list[str]:
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch=branch)
    return [row.revision.label for row in rows]


async def forks(farm: Farm) -> dict[str, tuple[str | None, int]]:
    return {row.name: (row.trunk, row.fork_position) for row in await farm.store.branches()}


def branch_off(source: Path, branch: str, first: int, last: int, *, at: str) -> list[str]:
    """Commits on a new branch that parts from where a name stands."""
    return add_commits(
        source, numbered(first, last), branch=branch, on=git(source, "rev-parse", at)
    )


async def test_a_branch_that_parts_from_what_is_known_gives_all_that_it_has_since(farm, source):
    await CommitWatch(farm).advance()
    branch_off(source, "stable/14", 11, 13, at="main")
    add_commits(source, numbered(4, 5))
    branch_off(source, "releng/14.0", 21, 22, at="stable/14~1")
    await CommitWatch(farm).advance()
    assert await own_rows(farm, "main") == ["r3", "r4", "r5"]
    assert await own_rows(farm, "stable/14") == ["r11", "r12", "r13"]
    assert await own_rows(farm, "releng/14.0") == ["r21", "r22"]
    assert await forks(farm) == {
        "main": (None, 0),
        "stable/14": ("main", 3),
        "releng/14.0": ("stable/14", 5),
    }


async def test_a_branch_older_than_the_farm_gives_its_tip_alone(farm, source):
    branch_off(source, "stable/13", 11, 13, at="main~1")
    await CommitWatch(farm).advance()
    assert await own_rows(farm, "stable/13") == ["r13"]
    assert (await forks(farm))["stable/13"] == ("main", 2)
    add_commits(source, numbered(14, 15), branch="stable/13")
    await CommitWatch(farm).advance()
    assert await own_rows(farm, "stable/13") == ["r13", "r14", "r15"]


async def test_a_branch_without_commits_of_its_own_has_none_until_they_come(farm, source):
    await CommitWatch(farm).advance()
    git(source, "branch", "stable/14", "main")
    await CommitWatch(farm).advance()
    assert await own_rows(farm, "stable/14") == []
    assert (await farm.store.newest_commit("stable/14")).branch == "main"
    add_commits(source, numbered(11, 12), branch="stable/14")
    await CommitWatch(farm).advance()
    assert await own_rows(farm, "stable/14") == ["r11", "r12"]


async def test_a_branch_that_is_not_there_does_not_keep_the_others_from_being_looked_at(
    make_farm, source
):
    farm = make_farm(("branches: [main]", "branches: [stable/41, main]"), repository=source)
    with pytest.raises(UsageError, match="there is no branch 'stable/41'"):
        await CommitWatch(farm).advance()
    assert await own_rows(farm, "main") == ["r3"]


async def test_a_trunk_that_is_rewritten_leaves_a_branch_what_they_shared(farm, source):
    await CommitWatch(farm).advance()
    shas = add_commits(source, numbered(4, 5))
    await CommitWatch(farm).advance()
    branch_off(source, "stable/14", 11, 12, at="main")
    await CommitWatch(farm).advance()
    add_commits(source, [Commit(files={"sys/k.c": "other"}, svn=6)], on=shas[0])
    await CommitWatch(farm).advance()
    assert (await forks(farm))["stable/14"] == ("main", 4)
    assert await own_rows(farm, "stable/14") == ["r11", "r12", "r5"]
    assert (await farm.store.commit_at("stable/14", 5)).svn == 5
    assert (await farm.store.commit_at("main", 5)).svn == 6


async def test_a_branch_that_is_rewritten_parts_elsewhere(farm, source):
    await CommitWatch(farm).advance()
    add_commits(source, numbered(4, 5))
    branch_off(source, "stable/14", 11, 12, at="main")
    await CommitWatch(farm).advance()
    branch_off(source, "stable/14", 13, 13, at="main~1")
    await CommitWatch(farm).advance()
    assert (await forks(farm))["stable/14"] == ("main", 4)
    assert (await farm.store.newest_commit("stable/14")).svn == 13


async def test_a_trunk_that_was_renamed_stays_what_the_new_name_has(make_farm, source, reconfigure):
    old = make_farm(repository=source)
    await CommitWatch(old).advance()
    git(source, "branch", "-m", "main", "trunk")
    add_commits(source, numbered(4, 5), branch="trunk")
    old.use(make_farm(("branches: [main]", "branches: [trunk]"), repository=source).workflow)
    await CommitWatch(old).advance()
    assert await forks(old) == {"main": (None, 0), "trunk": ("main", 3)}
    assert await own_rows(old, "trunk") == ["r4", "r5"]


async def asked(farm: Farm) -> list[tuple[str, str, str]]:
    """The branch, the label and the reason of each probe that waits."""
    found = []
    for probe in await farm.store.probes(state="new"):
        image = await farm.store.image(probe.image_id)
        found.append((image.branch, image.label, str(probe.reason)))
    return found


async def measure_all(farm: Farm, past: Past, level: Callable[[str], float]) -> list[str]:
    """Measure and judge until nothing is asked for; the labels in the order in which they were."""
    order = []
    for _ in range(80):
        await CommitQueue(farm).advance()
        probes = await farm.store.probes(state="new")
        if not probes:
            return order
        for probe in probes:
            image = await farm.store.image(probe.image_id)
            order.append(image.label)
            if image.state == "wanted":
                digest = f"{image.id:x}".ljust(64, "0")
                await farm.store.change(
                    image, changed_at=farm.now(), state="built", digest=digest, size=9
                )
            values = boots(level(image.label), probe.iterations, series=probe.id)
            for ordinal, value in enumerate(values):
                await past.add(probe, ordinal, value)
            await farm.store.change(probe, state="done", ended_at=farm.now())
        await Judging(farm).advance()
    raise AssertionError("the farm asks for ever")


async def test_branches_take_turns_and_old_commits_come_last(farm, source):
    past = Past(farm, {})
    await CommitWatch(farm).advance()
    branch_off(source, "stable/14", 11, 12, at="main")
    add_commits(source, numbered(4, 5))
    await CommitWatch(farm).advance()
    order = await measure_all(farm, past, lambda _: USUAL)
    assert list(dict.fromkeys(order)) == ["r5", "r12", "r4", "r11", "r3"]


async def test_what_branches_share_is_measured_once_and_a_branch_is_judged_against_it(farm, source):
    past = Past(farm, {})
    await CommitWatch(farm).advance()
    await measure_all(farm, past, lambda _: USUAL)
    fork = git(source, "rev-parse", "main")
    branch_off(source, "stable/14", 11, 11, at="main")
    await CommitWatch(farm).advance()
    assert await measure_all(farm, past, lambda _: USUAL)
    images = await farm.store.images()
    assert sorted((image.branch, image.label, image.ordinal) for image in images) == [
        ("main", "r3", 0),
        ("stable/14", "r11", 0),
    ]
    (row,) = [row for row in await farm.store.judgements() if row.branch == "stable/14"]
    assert (row.old_sha, row.old_position, row.new_position) == (fork, 3, 4)
    assert row.state == "nothing"


async def slower_stable(farm: Farm, source: Path, past: Past) -> None:
    """Main stays as it is; stable/14 is slower from its second commit on, at main's positions."""
    for number in range(4, 12):
        add_commits(source, numbered(number, number))
        await CommitWatch(farm).advance()
        await measure_all(farm, past, lambda _: USUAL)
    branch_off(source, "stable/14", 21, 21, at="main~3")
    await CommitWatch(farm).advance()
    for number in (22, 23, 24):
        await measure_all(farm, past, stable_level)
        add_commits(source, numbered(number, number), branch="stable/14")
        await CommitWatch(farm).advance()
    await measure_all(farm, past, stable_level)


def stable_level(label: str) -> float:
    return 0.8 * USUAL if label in {"r22", "r23", "r24"} else USUAL


async def test_a_branch_is_judged_by_its_own_line(farm, source):
    past = Past(farm, {})
    await CommitWatch(farm).advance()
    await slower_stable(farm, source, past)
    alarms = await farm.store.judgements("regression")
    assert {(row.branch, row.new_position) for row in alarms} == {("stable/14", 10)}
    assert alarms[0].old_sha == git(source, "rev-parse", "stable/14~3")
    (search,) = await farm.store.searches()
    assert (search.branch, search.new_sha) == (
        "stable/14",
        git(source, "rev-parse", "stable/14~2"),
    )
    on_main = [row for row in await farm.store.judgements() if row.branch == "main"]
    assert {str(row.state) for row in on_main} == {"nothing"}


async def test_a_farm_of_one_branch_may_watch_more(make_farm, source):
    one = make_farm(repository=source)
    past = Past(one, {})
    await CommitWatch(one).advance()
    await measure_all(one, past, lambda _: USUAL)
    before = await one.store.images()
    branch_off(source, "stable/14", 11, 12, at="main")
    one.use(make_farm(PATTERNS, repository=source).workflow)
    await CommitWatch(one).advance()
    assert (await asked(one), await own_rows(one, "stable/14")) == ([], ["r11", "r12"])
    await measure_all(one, past, lambda _: USUAL)
    assert (await one.store.images())[: len(before)] == before


async def measured_on(farm: Farm, past: Past, branch: str, spread: float) -> list[int]:
    """Twelve commits of a branch, whose images lie up to `spread` off either way; their images."""
    images = []
    newest = await farm.store.newest_commit(branch)
    for position in range(newest.position - 11, newest.position + 1):
        commit = await farm.store.commit_at(branch, position)
        image = await farm.store.ensure_image(
            sha=commit.sha,
            variant=commit.sha,
            ordinal=0,
            position=position,
            label=commit.revision.label,
            branch=branch,
            now=farm.now(),
        )
        built = {"state": "built", "digest": f"{image.id:x}".ljust(64, "0"), "size": 9}
        await farm.store.change(image, changed_at=farm.now(), **built)
        off = 1 + spread * (-1) ** position * (1 + position % 3) / 3
        await past.measured(await farm.store.image(image.id), boots(USUAL * off, series=position))
        images.append(image.id)
    return images


async def test_a_comparison_learns_its_noise_from_the_branch_of_its_base(farm, source):
    """What is a change on main is within what images of stable/14 differ by."""
    past = Past(farm, {})
    await CommitWatch(farm).advance()
    add_commits(source, numbered(4, 18))
    branch_off(source, "stable/14", 31, 45, at="main~15")
    await CommitWatch(farm).advance()
    found = {}
    for branch, spread in (("main", 0.0), ("stable/14", 0.1)):
        await measured_on(farm, past, branch, spread)
        base, new = ("r17", "r18") if branch == "main" else ("r44", "r45")
        asked = ComparisonQuestion(variants=(base, new), iterations=5)
        number = (await ComparisonRequests(farm).start(asked, "ann"))["comparisonid"]
        ab_test = await farm.store.ab_test(number)
        for place, variant in enumerate(ab_test.variants):
            image = await farm.store.image(variant.image_id)
            values = boots(USUAL * (1 - 0.15 * place), series=place)
            await past.measured(image, values, reason="person", ab_test_id=number)
        report = await ComparisonViews(farm).report(ab_test)
        (change,) = report.series[0].changes
        found[branch] = change.verdict
    assert found["main"] == "worse"
    assert found["stable/14"] != "worse"


async def test_readers_are_told_of_the_branch_where_a_farm_watches_several(make_farm, farm, source):
    one = make_farm(repository=source)
    branch_off(source, "stable/14", 11, 12, at="main")
    for watching in (one, farm):
        await CommitWatch(watching).advance()
    assert await branch_to_name(one, "main") == ""
    assert await branch_to_name(farm, "main") == "main"
