"""A farm of several repositories: what comes to each is its own; one that is away harms none."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.api.requests import ComparisonQuestion, SearchQuestion
from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.broker.commit_queue import CommitQueue
from buildbot_bench.plugin.broker.commit_watch import CommitWatch
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.removed import RemovedTestbeds
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import first_branch, known_branches, watched_branches
from buildbot_bench.plugin.requests.comparison_requests import ComparisonRequests
from buildbot_bench.plugin.requests.search_requests import SearchRequests
from tests.gitrepo import add_commits, git, numbered

NAMES = ("main", "fork:main")


@pytest.fixture
def fork(tmp_path, source) -> Path:
    """It has what the other has, and then goes on for itself."""
    shutil.copytree(source, tmp_path / "fork")
    return tmp_path / "fork"


def both(source: Path, fork: Path) -> tuple[str, str]:
    entries = f"src: {{url: {source}}}, fork: {{url: {fork}, branches: [main]}}"
    return f"repository: {source}", f"repositories: {{{entries}}}"


@pytest.fixture
def farm(make_farm, source, fork) -> Farm:
    return make_farm(both(source, fork), repository=source)


async def positions(farm: Farm) -> dict[str, int]:
    rows = await farm.store.newest_commits(NAMES)
    return {branch: row.position for branch, row in rows.items()}


async def test_what_comes_to_one_comes_to_that_one_alone(farm, source, fork):
    await CommitWatch(farm).advance()
    assert await positions(farm) == {"main": 3, "fork:main": 3}
    add_commits(fork, numbered(4, 5))
    await CommitWatch(farm).advance()
    assert await positions(farm) == {"main": 3, "fork:main": 5}
    add_commits(source, numbered(14, 14))
    await CommitWatch(farm).advance()
    assert await positions(farm) == {"main": 4, "fork:main": 5}
    assert {row.trunk for row in await farm.store.branches()} == {None}
    assert await watched_branches(farm) == NAMES
    assert await first_branch(farm, "fork") == "fork:main"


async def test_one_that_is_away_keeps_the_other_from_nothing(farm, source, fork, errors):
    await CommitWatch(farm).advance()
    add_commits(source, numbered(4, 4))
    fork.rename(fork.with_name("away"))
    with pytest.raises(Exception, match="fork"):
        await CommitWatch(farm).advance()
    assert await positions(farm) == {"main": 4, "fork:main": 3}
    fork.with_name("away").rename(fork)
    add_commits(fork, numbered(5, 5))
    await CommitWatch(farm).advance()
    assert await positions(farm) == {"main": 4, "fork:main": 4}


async def test_the_same_commit_is_built_once_for_each_from_where_it_came(farm, master, fork):
    await CommitWatch(farm).advance()
    queue = CommitQueue(farm)
    await queue.advance()
    (first,) = await farm.store.probes()
    await farm.store.change(first, state="done", ended_at=farm.now())
    await queue.advance()
    images = await farm.store.images()
    assert [(image.branch, image.repository) for image in images] == [
        ("main", ""),
        ("fork:main", "fork"),
    ]
    assert len({image.sha for image in images}) == 1
    await Issuer(farm, master).issue()
    asked = {request.properties["bench_image"]: request for request in master.requests}
    assert asked[images[1].id].properties != asked[images[0].id].properties


async def test_people_name_revisions_of_each(farm, source, fork):
    add_commits(fork, numbered(4, 9))
    await farm.mirroring.refresh()
    history = farm.history
    assert history.resolve("fork:main").position == 9
    assert history.resolve("src:main") == history.resolve("main")
    assert history.resolve(git(fork, "rev-parse", "main")).position == 9
    assert history.repository(git(fork, "rev-parse", "main")) == "fork"
    assert history.repository(git(source, "rev-parse", "main")) == ""
    with pytest.raises(UsageError, match=r"no repository 'ports'; this farm has src, fork"):
        history.resolve("ports:main")
    with pytest.raises(UsageError, match=r"no revision|there is no|main~9"):
        history.resolve("n9")


async def test_a_search_runs_in_the_repository_of_its_ends(farm, fork):
    add_commits(fork, numbered(4, 9))
    await CommitWatch(farm).advance()
    requests = SearchRequests(farm)
    started = await requests.start(SearchQuestion(old="fork:n2", new="fork:main"), "ann")
    search = await farm.store.search(started["searchid"])
    assert (search.branch, search.repository, search.new_position) == ("fork:main", "fork", 9)
    with pytest.raises(UsageError, match="of two repositories"):
        await requests.start(SearchQuestion(old="n2", new="fork:main"), "ann")


async def test_a_comparison_takes_variants_of_both(farm, fork):
    add_commits(fork, numbered(4, 4))
    await CommitWatch(farm).advance()
    asked = ComparisonQuestion(
        variants=("n3", "fork:n3", "fork:main"), iterations=2, min_effect=None
    )
    made = await ComparisonRequests(farm).start(asked, "ann", trusted=True)
    row = await farm.store.ab_test(made["comparisonid"])
    assert [variant.label for variant in row.variants] == ["r3", "fork:r3", "fork:r4"]
    images = [await farm.store.image(variant.image_id) for variant in row.variants]
    assert [image.repository for image in images] == ["", "fork", "fork"]


async def test_a_second_repository_keeps_all_and_goes_again(make_farm, source, fork, master):
    farm = make_farm(repository=source)
    await CommitWatch(farm).advance()
    await CommitQueue(farm).advance()
    before = await farm.store.images()
    assert before
    mirroring = farm.mirroring.of("")

    farm.use(make_farm(both(source, fork), repository=source).workflow)
    assert farm.mirroring.of("") is mirroring
    add_commits(fork, numbered(4, 9))
    await CommitWatch(farm).advance()
    assert await farm.store.images() == before
    started = await SearchRequests(farm).start(
        SearchQuestion(old="fork:n2", new="fork:main"), "ann"
    )

    farm.use(make_farm(repository=source).workflow)
    await RemovedTestbeds(farm).advance()
    ended = await farm.store.search(started["searchid"])
    why = "repository fork is no longer in bench.yml"
    assert (ended.state, ended.detail) == ("cancelled", why)
    assert await watched_branches(farm) == ("main",)
    assert await known_branches(farm) == NAMES
    newest = farm.history.resolve(git(fork, "rev-parse", "main"))
    assert newest.position == 9
    assert farm.history.range(farm.history.resolve(ended.old_sha), newest).n == 7
    with pytest.raises(UsageError, match="this farm watches one alone"):
        farm.history.resolve("fork:main")
