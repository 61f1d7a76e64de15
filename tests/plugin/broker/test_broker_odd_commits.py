"""A commit that libgit2 refuses comes in amid others; all are found and measured."""

import json
from pathlib import Path

import pytest

from buildbot_bench.plugin.broker.scheduler import Cycle
from buildbot_bench.plugin.db.rows import CommitRow
from buildbot_bench.plugin.db.schema import COMMIT
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.commit_views import commit_in_search, measured_commit
from buildbot_bench.plugin.queries.searches import SearchViews, strip
from tests.fakes.database import rows_of
from tests.fakes.past import Past
from tests.gitrepo import add_commits, add_raw_commit, git, numbered

EVE = b"Eve <eve@example.org>"
ODD = {
    "beyond": (EVE + b" 99999999999999999999 +0000", "Eve <eve@example.org>", 0),
    "no-number": (EVE + b" yesterday +0000", "Eve <eve@example.org>", 0),
    "no-brackets": (b"Eve of example.org 1484000000 +0000", "Eve of example.org", 1_484_000_000),
}


@pytest.fixture(params=ODD)
def line(request) -> tuple[bytes, str, int]:
    return ODD[request.param]


@pytest.fixture
def farm(make_farm, source) -> Farm:
    return make_farm(repository=source)


async def pushed(farm: Farm, cycle: Cycle, source: Path, line: bytes) -> Past:
    """r3 was known; r4, n5, which is the odd one, r6 and r7 come in."""
    await cycle.fetch()
    add_commits(source, numbered(4, 4))
    add_raw_commit(source, b"author %s\ncommitter %s\n\nem: go slower\n" % (line, line))
    add_commits(source, numbered(6, 7))
    await cycle.fetch()
    shas = git(source, "rev-list", "--reverse", "main").split()
    return Past(farm, dict(enumerate(shas, start=1)))


def level(position: int) -> float:
    return 1e6 if position < 5 else 0.8e6


async def test_all_of_them_are_recorded_with_what_can_be_read(farm, master, source, line):
    raw, author, at_s = line
    await pushed(farm, Cycle(farm=farm, scheduler=master), source, raw)
    rows = await rows_of(farm.store, COMMIT, CommitRow, branch="main")
    assert [row.revision.label for row in rows] == ["r3", "r4", "n5", "r6", "r7"]
    odd = rows[2]
    assert (odd.subject, odd.author, odd.committed_at_s) == ("em: go slower", author, at_s)
    assert all(row.important for row in rows)


async def test_all_of_them_are_measured(farm, master, source, line):
    cycle = Cycle(farm=farm, scheduler=master)
    past = await pushed(farm, cycle, source, line[0])
    for _ in range(8):
        await cycle.run()
        await past.lab_answers(lambda _: 1e6)
    measured = await farm.store.samples(("apu", "forwarding"), (1, 99))
    assert {row.position for row in measured} == {3, 4, 5, 6, 7}
    assert "em: go slower" in json.dumps(
        await measured_commit(farm, "apu", "forwarding", 5, "main")
    )


async def test_a_search_finds_it_and_shows_it(farm, master, source):
    cycle = Cycle(farm=farm, scheduler=master)
    raw, author, _at_s = ODD["beyond"]
    past = await pushed(farm, cycle, source, raw)
    search = await past.search(3, 7)
    for _ in range(120):
        await cycle.run()
        if not await past.lab_answers(level):
            break
    ended = await farm.store.search(search.id)
    assert ended.state == "found"
    shown = await SearchViews(farm).describe(search.id)
    assert shown["report"]["headline"]["suspects"][0]["label"] == "n5"
    assert "em: go slower" in shown["text"]
    assert author in shown["text"]
    assert (await strip(farm, search.id))["culprits"][0]["label"] == "n5"
    assert "em: go slower" in json.dumps(await commit_in_search(farm, search.id, 2))
