"""Asks the repository for news; what is new is found out elsewhere, so it tells of nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from buildbot.changes.gitpoller import GitPoller

# git 2.39 never ends a commit-graph with a date beyond 64 bits and a grandchild of its commit, and
# whoever may push can write such a date.
GIT_CONFIG: Mapping[str, str] = MappingProxyType({"gc.writeCommitGraph": "false"})


class Poller(GitPoller):
    """Buildbot's own poller, with a setting of git's that Buildbot has no parameter for."""

    def _dovccmd(self, command: str, args: list[str], *more: Any, **kwargs: Any) -> Any:
        settings = [word for item in GIT_CONFIG.items() for word in ("-c", "=".join(item))]
        words = [*settings, command, *args]
        return super()._dovccmd(words[0], words[1:], *more, **kwargs)
