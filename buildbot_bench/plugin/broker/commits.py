"""How commits come into the tables: reconciled from our own mirror, not from Buildbot's changes.

A poller that is killed in the middle of a push forgets the rest of it; the mirror does not.
"""

from __future__ import annotations

from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.farm import Farm


class CommitWatch:
    """Brings the tables up to the tip of each watched branch."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Fetch, then add what each branch has after the newest commit that is known.

        A branch that is seen for the first time gives its tip alone: what came before the farm
        is measured when a search asks for it.
        """
        farm = self._farm
        await farm.mirroring.refresh()
        push = farm.workflow.on.push
        if push is None:
            return
        for branch in push.branches:
            known = await farm.store.newest_commit(branch)
            after = known.revision if known else None
            revisions = await farm.git(farm.history.since, branch, after)
            if not revisions:
                continue
            watched = await farm.git(
                farm.history.touching, revisions, push.paths, push.paths_ignore
            )
            now = farm.now()
            rows = [
                NewCommit.of(
                    revision,
                    important=known is None or revision.sha in watched,
                    arrived_at=now,
                )
                for revision in revisions
            ]
            await farm.store.add_commits(branch, rows)
