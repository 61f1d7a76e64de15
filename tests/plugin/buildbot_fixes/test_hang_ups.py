"""On Buildbot's pool a question outlives a PostgreSQL that hangs up, or is away for a while."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from buildbot.db import enginestrategy
from buildbot.db.pool import DBThreadPool
from twisted.internet import defer, reactor, task
from twisted.trial import unittest

from buildbot_bench.plugin.buildbot_fixes.hang_ups import outlive_hang_ups
from tests.databases import closed_database, new_database

# Buildbot's pool pauses for a second before it asks again, whether a connection can be made or not.
LONGER_THAN_BUILDBOT_S = 2.5
_HANG_UP = "SELECT pg_terminate_backend(:pid, 30000)"


def hang_up(server: sa.Engine, pid: int) -> None:
    """End another connection's process, and wait until it is gone."""
    with server.connect() as conn:
        assert conn.scalar(sa.text(_HANG_UP), {"pid": pid})


def outliving(
    case: unittest.TestCase, url: str, **patience: float
) -> tuple[DBThreadPool, Callable[[], None]]:
    """A pool of Buildbot's that outlives hang-ups, for one test, and what ends its waiting."""
    engine = enginestrategy.create_engine(url, basedir=".")
    give_up = outlive_hang_ups(engine, **patience)
    pool = DBThreadPool(engine, reactor)
    pool.start()
    case.addCleanup(pool.stop)
    return pool, give_up


def select(conn: sa.Connection) -> int:
    return conn.scalar(sa.text("SELECT 7"))


class WhenPostgresqlHangsUp(unittest.TestCase):
    """What is asked meanwhile, in the threads of Buildbot's pool."""

    @pytest.fixture(autouse=True)
    def place(self, postgresql):
        self.server = postgresql

    def setUp(self):
        url = self.server.url.render_as_string(hide_password=False)
        self.pool, _ = outliving(self, url)
        self.asked = 0

    def tearDown(self):
        self.flushLoggedErrors(sa.exc.OperationalError)

    def hung_up_once(self, conn):
        self.asked += 1
        pid = conn.scalar(sa.text("SELECT pg_backend_pid()"))
        if self.asked == 1:
            hang_up(self.server, pid)

    def test_a_question_is_asked_again(self):
        def ask(conn):
            with conn.begin():
                self.hung_up_once(conn)
                return conn.scalar(sa.text("SELECT 7"))

        async def check():
            assert await self.pool.do(ask) == 7
            assert self.asked == 2

        return defer.ensureDeferred(check())

    def test_a_commit_that_may_have_been_done_is_not_repeated(self):
        def ask(conn):
            with conn.begin():
                self.hung_up_once(conn)

        async def check():
            with pytest.raises(sa.exc.OperationalError):
                await self.pool.do(ask)
            assert self.asked == 1

        return defer.ensureDeferred(check())

    def test_a_mistake_in_a_question_is_not_repeated(self):
        def ask(conn):
            self.asked += 1
            with conn.begin():
                conn.execute(sa.text("SELECT nothing FROM nowhere"))

        async def check():
            with pytest.raises(sa.exc.ProgrammingError):
                await self.pool.do(ask)
            self.flushLoggedErrors(sa.exc.ProgrammingError)
            assert self.asked == 1

        return defer.ensureDeferred(check())


class WhilePostgresqlIsAway(unittest.TestCase):
    """A database of its own, that lets nobody in."""

    @pytest.fixture(autouse=True)
    def place(self, postgresql):
        self.server = postgresql
        with new_database(postgresql) as self.url:
            yield

    def tearDown(self):
        self.flushLoggedErrors(sa.exc.OperationalError)

    def test_a_question_waits_for_it(self):
        async def check():
            pool, _ = outliving(self, self.url)
            await pool.do(select)
            with closed_database(self.server, self.url):
                asked = pool.do(select)
                await task.deferLater(reactor, LONGER_THAN_BUILDBOT_S)
                assert not asked.called
            assert await asked == 7

        return defer.ensureDeferred(check())

    def test_no_question_waits_longer_than_the_first(self):
        async def check():
            pool, _ = outliving(self, self.url, patience_s=0.5)
            await pool.do(select)
            with closed_database(self.server, self.url):
                for _ in range(3):
                    await refused(pool.do(select))
            assert await pool.do(select) == 7

        return defer.ensureDeferred(check())

    def test_none_waits_when_the_master_stops(self):
        async def check():
            pool, give_up = outliving(self, self.url)
            await pool.do(select)
            with closed_database(self.server, self.url):
                asked = pool.do(select)
                await task.deferLater(reactor, LONGER_THAN_BUILDBOT_S)
                assert not asked.called
                give_up()
                await refused(asked)

        return defer.ensureDeferred(check())


async def refused(asked: defer.Deferred[int]) -> None:
    """Wait until a question ends with what the server says."""
    with pytest.raises(sa.exc.OperationalError, match="not currently accepting connections"):
        await asked
