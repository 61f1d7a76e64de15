"""A real master whose disk is full at some point of a build's life lets nothing stand still."""

import unittest as standard
import warnings

import pytest
import sqlalchemy as sa
from buildbot.config import BuilderConfig
from buildbot.plugins import schedulers, steps
from buildbot.process.results import CANCELLED, SUCCESS
from buildbot.process.workerforbuilder import States
from twisted.internet import defer, reactor, task

from buildbot_bench.plugin.buildbot_fixes.sturdy_build import SturdyFactory
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.masters import StandingWork
from tests.fakes.full_disk import FullDisk

with warnings.catch_warnings():
    # To import buildbot.test makes every warning an error, in all that is imported after it.
    from buildbot.test.util.integration import RunMasterBase

# And gives every test of the process five seconds, however busy the machine is.
if "timeout" in vars(standard.TestCase):
    del standard.TestCase.timeout

FULL_S, LOOK_S, STANDS_S = 0.1, 0.1, 0.5
PATIENCE_S = 60.0
# What is written of a build, from its request's claim to its end, by the first words.
POINTS = (
    "INSERT INTO buildrequest_claims",
    "INSERT INTO builds ",
    "INSERT INTO steps",
    "UPDATE steps SET complete_at",  # the worker's preparation
    "UPDATE steps SET locks_acquired_at",
    "INSERT INTO logs",
    "UPDATE builds SET complete_at",
    "UPDATE buildrequests SET complete",
    "UPDATE buildsets SET complete",
)
SOURCESTAMP = {"codebase": "", "repository": "", "branch": None, "revision": None, "project": ""}


class WhenTheDiskIsFull(RunMasterBase):
    """One master, one worker, and a builder as the farm's are."""

    timeout = 900
    pytestmark = pytest.mark.filterwarnings("ignore:No path_separator found")

    @pytest.fixture(autouse=True)
    def _there(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)  # a master of Buildbot's tests lies where they stand

    def setUp(self):
        return defer.ensureDeferred(self.start())

    async def start(self):
        factory = SturdyFactory([steps.ShellCommand(command=["true"], logEnviron=False)])
        builder = BuilderConfig(name="kernel", workernames=["local1"], factory=factory)
        scheduler = schedulers.Triggerable(name="asked", builderNames=["kernel"])
        await self.setup_master(
            {
                "builders": [builder],
                "schedulers": [scheduler],
                "collapseRequests": False,
                "www": {},
                "db_url": "sqlite:///state.sqlite",
            }
        )
        self.disk = FullDisk(self.master.db.pool.engine)
        self.builder = self.master.botmaster.builders["kernel"]
        standing = StandingWork(BenchStore(self.master.db.pool), look_s=LOOK_S, stands_s=STANDS_S)
        await standing.setServiceParent(self.master)

    def tearDown(self):
        self.flushLoggedErrors()

    async def ask(self):
        updates = self.master.data.updates
        _, brids = await updates.addBuildset(
            waited_for=False,
            builderids=[await self.builder.getBuilderId()],
            sourcestamps=[SOURCESTAMP],
        )
        return next(iter(brids.values()))

    async def unended(self):
        """What the tables, and the master's memory, have as work that goes on."""

        def thd(conn):
            query = "SELECT id FROM {table} WHERE complete_at IS NULL"
            return [
                f"{table} {row.id}"
                for table in ("builds", "steps", "buildrequests", "buildsets")
                for row in conn.execute(sa.text(query.format(table=table)))
            ]

        found = await self.master.db.pool.do(thd)
        free = [one.state is States.AVAILABLE for one in self.builder.workers]
        return found + self.builder.building + ([] if free == [True] else ["the worker"])

    async def settle(self):
        deadline_s = reactor.seconds() + PATIENCE_S
        while not self.disk.is_over or await self.unended():
            if reactor.seconds() > deadline_s:
                return await self.unended()
            await task.deferLater(reactor, LOOK_S)
            if self.disk.is_over:
                # As the broker does when a request waits for long.
                self.master.botmaster.maybeStartBuildsForAllBuilders()
        return []

    def test_all_that_was_begun_ends(self):
        async def check():
            for point in POINTS:
                self.disk.fill_at(point, lasts_s=FULL_S)
                await self.ask()
                assert await self.settle() == [], point
            last = await self.ask()
            assert await self.settle() == []
            assert await self.results_of(last) == SUCCESS

        return defer.ensureDeferred(check())

    def test_a_build_that_is_cancelled_before_it_is_known_ends(self):
        async def check():
            botmaster = self.master.botmaster
            add = botmaster.add_in_progress_buildrequest

            def cancel(brid):
                add(brid)
                botmaster.maybe_cancel_in_progress_buildrequest(brid, "no longer wanted")

            self.patch(botmaster, "add_in_progress_buildrequest", cancel)
            asked = await self.ask()
            assert await self.settle() == []
            assert await self.results_of(asked) == CANCELLED

        return defer.ensureDeferred(check())

    def test_a_build_that_goes_on_is_let_be(self):
        async def check():
            slow = steps.ShellCommand(command=["sleep", str(4 * STANDS_S)], logEnviron=False)
            self.builder.config.factory = SturdyFactory([slow])
            asked = await self.ask()
            assert await self.settle() == []
            assert await self.results_of(asked) == SUCCESS
            assert len(await self.master.data.get(("builds",))) == 1

        return defer.ensureDeferred(check())

    async def results_of(self, brid):
        return (await self.master.data.get(("buildrequests", brid)))["results"]
