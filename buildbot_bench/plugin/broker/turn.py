"""What the broker does in one turn, in order; each part is its own module."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from twisted.python import log

from buildbot_bench.plugin.broker.again import Again
from buildbot_bench.plugin.broker.collect import Collector
from buildbot_bench.plugin.broker.commits import CommitWatch
from buildbot_bench.plugin.broker.controls import Controls
from buildbot_bench.plugin.broker.gone import Gone
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.broker.judging import Judging
from buildbot_bench.plugin.broker.notices import Notices
from buildbot_bench.plugin.broker.post import Post
from buildbot_bench.plugin.broker.profiles import Profiles
from buildbot_bench.plugin.broker.retention import Retention
from buildbot_bench.plugin.broker.searching import Searching
from buildbot_bench.plugin.broker.trials import Trials
from buildbot_bench.plugin.broker.wants import Wants
from buildbot_bench.plugin.farm import Farm


class Turn:
    """One pass over everything: what arrived, what ended, what follows, what to ask for next."""

    def __init__(self, *, farm: Farm, scheduler: Any) -> None:
        self._commits = CommitWatch(farm)
        issuer = Issuer(farm, scheduler)
        self._steady: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            # Before all that would look a testbed up, or ask something of it.
            ("gone", Gone(farm).advance),
            ("collect", Collector(farm, scheduler.master).collect),
            # Before all that reads samples: those that came to be in doubt are none.
            ("control", Controls(farm).advance),
            ("again", Again(farm).advance),
            ("judge", Judging(farm).advance),
            ("search", Searching(farm).advance),
            ("compare", Trials(farm).advance),
            ("want", Wants(farm).advance),
            ("issue", issuer.issue),
            ("profile", Profiles(farm, scheduler.master, issuer).advance),
            ("post", Post(farm, scheduler.master).advance),
            ("retain", Retention(farm).advance),
            ("notify", Notices(farm, scheduler.master).advance),
        )

    async def fetch(self) -> None:
        """Bring in the commits that arrived; it may take long and run beside turns."""
        await _guarded("fetch", self._commits.advance)

    async def take(self) -> None:
        """Take the turn; a part that fails does not keep the others from their work."""
        for name, part in self._steady:
            await _guarded(name, part)


async def _guarded(name: str, part: Callable[[], Awaitable[None]]) -> None:
    try:
        await part()
    except Exception:  # noqa: BLE001 - a repository that is away must not stop the searches
        log.err(None, f"bench: the part {name!r} of a turn failed; the next turn tries again")
