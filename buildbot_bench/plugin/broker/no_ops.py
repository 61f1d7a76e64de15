"""Commits presumed to be no-op changes, as they touch no file that the kernel is built from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache

from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.core.branches import repository_of
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.read_files import FileChange, ReadFiles, parse_read_files
from buildbot_bench.core.touched import Neighbours, presumed_no_op
from buildbot_bench.plugin.db.rows import CommitRow, ListedRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

_LOG = Logger()

# A list of GENERIC takes a megabyte of memory; neighbours come one after the other.
_LISTS_KEPT = 4


class NoOpCommits:
    """Keeps up to date which commits are presumed to be no-op changes."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._looked_at: dict[str, tuple[object, ...]] = {}
        self._images: dict[str, tuple[object, ...]] = {}

    async def look(self, tips: Mapping[str, CommitRow]) -> bool:
        """Look again if there are new commits, or new lists of files that builds read.

        `tips` are the newest commits of the branches. Says whether a presumption was taken back. A
        mirror that cannot be read is no reason to measure nothing: then all commits count.
        """
        first = {branch: max(0, tip.position - WINDOW_COMMITS) for branch, tip in tips.items()}
        images = await self._farm.store.versions_since(first)
        taken_back = False
        for branch, tip in tips.items():
            # A list comes with an image, and another job builds otherwise.
            known = (tip.sha, images[branch], self._job(branch))
            if known != self._images.get(branch):
                found = await self._look(branch, first[branch])
                taken_back |= None in found.values()
                self._images[branch] = known
        return taken_back

    def _job(self, branch: str) -> str:
        return self._farm.workflow.build_digest_of(repository_of(branch))

    async def _look(self, branch: str, first: int) -> Mapping[int, str | None]:
        store = self._farm.store
        listed = await store.listed_images(branch, first, self._job(branch))
        if not listed:
            return {}
        commits = await store.unbuilt_commits(branch, first)
        seen = (*listed, *(commit.id for commit in commits))
        if not commits or seen == self._looked_at.get(branch):
            return {}
        placed = {commit.id: _around(commit.position, listed) for commit in commits}
        digests = {one.digest for around in placed.values() for one in around}
        bodies = await store.read_files(digests)
        try:
            changes = await self._farm.git(
                self._farm.file_changes, [commit.revision for commit in commits]
            )
        except InfraError as error:
            _LOG.warn(
                "bench: it is not known what the new commits of {branch} touch: {problem}",
                branch=branch,
                problem=str(error),
            )
            self._looked_at[branch] = seen
            return {}
        touched = dict(zip((commit.id for commit in commits), changes, strict=True))
        found = await deferToThread(_presumed, commits, placed, touched, bodies)
        if found:
            await store.presume_no_ops(found)
        self._looked_at[branch] = seen
        return found


def _around(position: int, listed: Sequence[ListedRow]) -> tuple[ListedRow, ...]:
    """The nearest build before a position and the nearest after it; nothing without the first."""
    places = [one.position for one in listed]
    before, after = bisect_left(places, position), bisect_right(places, position)
    return (*listed[before - 1 : before], *listed[after : after + 1]) if before else ()


def _presumed(
    commits: Sequence[CommitRow],
    placed: Mapping[int, tuple[ListedRow, ...]],
    touched: Mapping[int, Sequence[FileChange]],
    bodies: Mapping[str, bytes],
) -> dict[int, str | None]:
    """What is to be said otherwise than the tables say: the label of the build, by commits' ids."""

    @lru_cache(maxsize=_LISTS_KEPT)
    def read_by(digest: str) -> ReadFiles | None:
        try:
            return parse_read_files(bodies[digest])
        except (UsageError, KeyError):
            return None

    found = {}
    for commit in commits:
        around = placed[commit.id]
        lists = [read_by(one.digest) for one in around]
        known = [one for one in lists if one is not None]
        label = None
        if known and len(known) == len(lists):
            neighbours = Neighbours(before=known[0], after=known[1] if known[1:] else None)
            if presumed_no_op(touched[commit.id], neighbours):
                label = around[0].label
        if label != commit.no_op_of:
            found[commit.id] = label
    return found
