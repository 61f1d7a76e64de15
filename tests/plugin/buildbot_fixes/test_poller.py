"""Buildbot's poller gives the same changes with fewer processes, none of which is forked."""

import subprocess
from contextlib import suppress
from types import SimpleNamespace

import pytest
from buildbot.changes.gitpoller import GitPoller
from twisted.internet import reactor

from buildbot_bench.plugin.buildbot_fixes.poller import Poller
from tests.gitrepo import Commit, add_commits, git, make_repository

COMMITS = (
    Commit(files={"sys/a.c": "1\n", "sys/ä b.c": "1\n"}, subject="First"),
    Commit(files={"sys/a.c": "2\n"}, subject="Zweite Änderung", author="Ä Ö <a@example.org>"),
    Commit(files={"sys/a.c": "3\n"}, subject=""),
    Commit(files={"sys/a.c": None}, subject="Fourth\n\nWith a body\x1f\x1e.\n\n* and a list\n"),
)


class Spawning:
    """A reactor that waits for each process, and notes in which directory it was to begin."""

    def __init__(self) -> None:
        self.paths: list[object] = []

    def __getattr__(self, name):
        return getattr(reactor, name)

    def spawnProcess(self, protocol, _executable, args, env, path=None, **_more):  # noqa: N802
        self.paths.append(path)
        done = subprocess.run(args, env=env, cwd=path, capture_output=True, check=False)
        reactor.callLater(0, self._tell, protocol, done)

    def _tell(self, protocol, done):
        protocol.outReceived(done.stdout)
        protocol.errReceived(done.stderr)
        status = SimpleNamespace(signal=None, exitCode=done.returncode)
        protocol.processEnded(SimpleNamespace(value=status))


class Polled:
    """What a poller tells of a push, and the processes that it began."""

    def __init__(self) -> None:
        self.changes: list[dict[str, object]] = []
        self.reactor = Spawning()
        updates = SimpleNamespace(addChange=self._add)
        self.master = SimpleNamespace(reactor=self.reactor, data=SimpleNamespace(updates=updates))

    async def _add(self, **change):
        self.changes.append(change)

    async def by(self, kind, repository, known, newest) -> None:
        alone = type("Alone", (kind,), {"master": self.master})  # without Buildbot's services
        poller = alone.__new__(alone)
        poller.__dict__ |= {
            "_git_auth": SimpleNamespace(is_auth_needed_for_git_command=lambda _: False),
            "_codebase_id": None,
            "branches": ["main"],
            "buildPushesWithNoCommits": False,
            "category": None,
            "encoding": "utf-8",
            "gitbin": "git",
            "lastRev": {"main": known},
            "project": "",
            "repourl": str(repository),
            "usetimestamps": False,
            "workdir": str(repository),
        }
        await poller._process_changes(newest, "main")


async def told(kind, repository) -> Polled:
    polled = Polled()
    first, *_, newest = git(repository, "rev-list", "--reverse", "main").split()
    with suppress(UnicodeDecodeError):
        await polled.by(kind, repository, first, newest)
    return polled


@pytest.fixture
def repository(tmp_path):
    make_repository(tmp_path / "src", [Commit(files={"README": "x"}), *COMMITS])
    return tmp_path / "src"


async def test_it_tells_what_buildbots_own_does(repository):
    ours, theirs = await told(Poller, repository), await told(GitPoller, repository)
    assert [change["comments"] for change in ours.changes][:2] == ["First", "Zweite Änderung"]
    assert ours.changes == theirs.changes


async def test_a_push_takes_a_process_a_commit_and_the_master_is_forked_for_none(repository):
    polled = await told(Poller, repository)
    assert len(polled.changes) == len(COMMITS)
    assert len(polled.reactor.paths) == len(COMMITS) + 2
    assert set(polled.reactor.paths) == {None}


async def test_before_a_commit_that_is_no_text_it_tells_what_buildbots_own_does(repository):
    add_commits(repository, [Commit(files={"sys/b.c": "1\n"}, subject=b"caf\xe9")])
    ours, theirs = await told(Poller, repository), await told(GitPoller, repository)
    assert len(ours.changes) == len(COMMITS)
    assert ours.changes == theirs.changes
