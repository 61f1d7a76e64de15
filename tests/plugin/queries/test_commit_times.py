"""When the commits of a series were made: from the tables, else from the mirror."""

import gzip
import json

import pytest

from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.pages.histories import Histories
from buildbot_bench.plugin.queries.commit_views import RETRY_S, CommitTimes
from tests.fakes.past import TESTBED, WORKLOAD, Past
from tests.gitrepo import add_commits, make_repository, numbered

pytestmark = pytest.mark.both_databases

AT_S = 1_234_567_890


@pytest.fixture
def points(farm):
    async def read():
        return await farm.store.points((TESTBED, WORKLOAD), "main")

    return read


async def came(farm, past, position: int) -> None:
    row = NewCommit(sha=past.shas[position], position=position, committed_at_s=AT_S)
    await farm.store.add_commits("main", [row])


async def test_what_came_to_the_branch_is_known_from_the_tables(farm, past, points):
    await past.measured(3, (1e6,))
    await came(farm, past, 3)
    assert await CommitTimes().of(farm, "main", await points()) == [AT_S]


async def test_what_is_older_than_the_farm_is_read_from_git(farm, past, points):
    await past.measured(3, (1e6,))
    told = await CommitTimes().of(farm, "main", await points())
    assert told == [farm.history.resolve(past.shas[3]).committed_at_s]
    assert told[0] > 0


async def test_a_commit_that_nobody_has_any_more_has_no_time(farm, past, points):
    await past.measured(await past.image(3, sha="9" * 40), (1e6,))
    assert await CommitTimes().of(farm, "main", await points()) == [0]


async def test_a_commit_that_comes_later_gets_its_time_without_a_boot(make_farm, tmp_path, master):
    source = tmp_path / "src"
    make_repository(source, numbered(1, 3))
    farm = make_farm(repository=source)
    await farm.mirroring.refresh()
    (sha,) = add_commits(source, numbered(4, 4))
    past = Past(farm, {4: sha})
    await past.measured(4, (1e6,))
    histories = Histories()

    async def times() -> list[int]:
        kept = await histories.read(farm, TESTBED, WORKLOAD)
        return json.loads(gzip.decompress(kept.compressed))["views"][0]["times"]

    assert await times() == [0]
    await farm.mirroring.refresh()
    assert await times() == [0]
    master.reactor.advance(RETRY_S)
    (at_s,) = await times()
    assert at_s == farm.history.resolve(sha).committed_at_s > 0


async def test_each_commit_is_asked_for_once(farm, past, points):
    asked, read = [], farm.store.commit_times

    async def counted(branch, first, last):
        asked.append((first, last))
        return await read(branch, first, last)

    farm.store.commit_times = counted
    times = CommitTimes()
    await past.measured(3, (1e6,))
    await times.of(farm, "main", await points())
    await past.measured(5, (1e6,))
    found = await times.of(farm, "main", await points())
    assert (asked, len(found)) == ([(3, 3), (5, 5)], 2)


async def test_the_chart_gets_a_time_for_each_point(farm, past):
    await past.measured(2, (1e6,))
    await past.measured(3, (1e6,))
    await came(farm, past, 3)
    kept = await Histories().read(farm, TESTBED, WORKLOAD)
    (view,) = json.loads(gzip.decompress(kept.compressed))["views"]
    assert view["times"][1] == AT_S
    assert len(view["times"]) == len(view["positions"]) == 2
