"""A poller that reads a push of many commits without as many pauses of the master."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from buildbot.changes.gitpoller import GitPoller
from buildbot.util.twisted import async_to_deferred
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

_LOG = Logger()

# git 2.39 never ends a commit-graph with a date beyond 64 bits and a grandchild of its commit, and
# whoever may push can write such a date. By default a power cut leaves objects empty that no later
# fetch replaces.
GIT_CONFIG: Mapping[str, str] = MappingProxyType(
    {"gc.writeCommitGraph": "false", "core.fsync": "all"}
)
_FIELDS = ("%H", "%aN <%aE>", "%cN <%cE>", "%s%n%b")


class Poller(GitPoller):
    """Buildbot's own poller, with settings of git's that Buildbot has no parameter for.

    Buildbot 4.3 starts five processes for each commit, each by a fork, which copies the page
    tables of the whole master and holds the reactor meanwhile: of 2,000 commits, for minutes. Here
    one process reads author, committer and message of all commits that a poll found, and those
    that are left are spawned: git changes to the directory itself.
    """

    def _dovccmd(self, command: str, args: list[str], path: str | None = None, **more: Any) -> Any:
        settings = [word for item in GIT_CONFIG.items() for word in ("-c", "=".join(item))]
        place = [] if path is None else ["-C", path]
        words = [*settings, *place, command, *args]
        return super()._dovccmd(words[0], words[1:], **more)

    @async_to_deferred
    async def _process_changes(self, newRev: str, branch: str) -> None:
        self._read: dict[str, tuple[str, ...]] = {}
        if self.lastRev:
            try:
                self._read = await self._read_all(newRev)
            except Exception:  # noqa: BLE001 - one of them has bytes that are no text, say
                _LOG.failure("bench: the commits of a push are read one by one")
        await super()._process_changes(newRev, branch)

    async def _read_all(self, newest: str) -> dict[str, tuple[str, ...]]:
        """Read the fields of all commits that are new, by hash."""
        known = [f"^{sha}" for sha in sorted(self.lastRev.values())]
        form = f"--format={'%x00'.join(_FIELDS)}"
        text = await self._dovccmd(
            "log",
            ["--ignore-missing", "--first-parent", "-z", form, newest, *known, "--"],
            path=self.workdir,
        )
        told = [field.strip() for field in text.split("\0")]
        starts = range(0, len(told) - len(_FIELDS) + 1, len(_FIELDS))
        return {told[i]: tuple(told[i : i + len(_FIELDS)]) for i in starts}

    def _get_commit_timestamp(self, rev: str) -> Deferred[Any]:
        return super()._get_commit_timestamp(rev) if self.usetimestamps else succeed(None)

    def _get_commit_author(self, rev: str) -> Deferred[Any]:
        return self._field(rev, 1) or super()._get_commit_author(rev)

    def _get_commit_committer(self, rev: str) -> Deferred[Any]:
        return self._field(rev, 2) or super()._get_commit_committer(rev)

    def _get_commit_comments(self, rev: str) -> Deferred[Any]:
        return self._field(rev, 3) or super()._get_commit_comments(rev)

    def _field(self, rev: str, number: int) -> Deferred[Any] | None:
        return succeed(self._read[rev][number]) if rev in self._read else None
