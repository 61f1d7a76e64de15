"""A method is one transaction, also on Buildbot's own pool; and finds its rows by an index."""

import pytest
import sqlalchemy as sa
from buildbot.db import enginestrategy
from buildbot.db.pool import DBThreadPool
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet import defer, reactor
from twisted.trial import unittest

from buildbot_bench.plugin.db.columns import HostileText
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import ITERATION
from buildbot_bench.plugin.db.sql import is_current
from buildbot_bench.plugin.db.store import BenchStore
from tests.fakes.database import sha


async def test_what_fails_midway_leaves_no_trace(store):
    await store.add_commits("main", [NewCommit(sha=sha(1), position=1)])
    twice = [NewCommit(sha=sha(9), position=position) for position in (1, 2)]
    with pytest.raises(sa.exc.IntegrityError):
        await store.add_commits("main", twice)
    assert (await store.newest_commit("main")).sha == sha(1)


# PostgreSQL plans by the size of the tables, which are empty here.
@pytest.mark.parametrize("new_engine", ["sqlite"], indirect=True, scope="session")
async def test_samples_are_found_by_an_index(engine, store):
    plan: list[str] = []

    def explain(_conn, cursor, statement, parameters, *_):
        if ITERATION.name in statement:
            cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plan.extend(row[-1] for row in cursor.fetchall())

    sa.event.listen(engine, "before_cursor_execute", explain)
    await store.samples(("apu", "forwarding"), (1, 200))
    sa.event.remove(engine, "before_cursor_execute", explain)
    assert any("(testbed=? AND workload=? AND tunables=? AND image_id=?)" in line for line in plan)
    assert not [line for line in plan if line.startswith("SCAN")]


@settings(deadline=None)
@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_becomes_one_that_both_databases_take(text):
    stored = HostileText().process_bind_param(text, None)
    assert "\0" not in stored
    assert stored.encode().decode() == stored
    if "\0" not in text and not any(0xD800 <= ord(c) < 0xE000 for c in text):
        assert stored == text


class OnBuildbotsPool(unittest.TestCase):
    """Buildbot's pool runs queries in threads, on connections that commit nothing by themselves."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path):
        self.file_url = f"sqlite:///{tmp_path / 'master.sqlite'}"

    def setUp(self):
        self.pools = []

    def tearDown(self):
        return defer.DeferredList([pool.stop() for pool in self.pools])

    def a_pool(self, url):
        engine = enginestrategy.create_engine(url, basedir=".")
        self.pools.append(DBThreadPool(engine, reactor))
        self.pools[-1].start()
        return self.pools[-1]

    def test_what_one_master_wrote_another_one_reads(self):
        return defer.ensureDeferred(self.check(self.file_url))

    def test_a_database_in_memory_is_kept(self):
        return defer.ensureDeferred(self.check("sqlite://"))

    async def check(self, url):
        writer = self.a_pool(url)
        await BenchStore(writer).upgrade()
        await BenchStore(writer).add_commits("main", [NewCommit(sha=sha(1), position=1)])
        reader = writer if url == "sqlite://" else self.a_pool(url)
        assert await BenchStore(reader).run(is_current)
        assert (await BenchStore(reader).newest_commit("main")).sha == sha(1)
