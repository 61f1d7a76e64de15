"""The update of the tables to the tip of each watched branch.

Commits come from our own mirror, not from Buildbot's changes: a poller that is killed in the middle
of a push forgets the rest of the push.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.core.read_files import FileChange, ReadFiles, parse_read_files
from buildbot_bench.core.revision import MOST_BRANCHES, Revision, name_in_repository, repository_of
from buildbot_bench.core.touched import presumed_no_op
from buildbot_bench.plugin.db.rows import CommitRow, ListedRow, NewCommit
from buildbot_bench.plugin.db.schema import BranchRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.mirroring import SideBySide
from buildbot_bench.plugin.queries.evidence import WINDOW_COMMITS

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
        if known and len(known) == len(lists) and presumed_no_op(touched[commit.id], known):
            label = around[0].label
        if label != commit.no_op_of:
            found[commit.id] = label
    return found


_LOG = Logger()

# A poll may tell of as many commits one by one; those that are forgotten cost a look each.
_REMEMBERED = 10_000


class CommitWatch:
    """Brings the tables up to the tip of each watched branch."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._left_out: tuple[str, ...] = ()
        self._brought_in: set[tuple[str, str]] = set()
        self._looks = SideBySide(farm.master.reactor)

    async def advance(self) -> None:
        """Bring in what is new of each repository; one that is away keeps none of the others."""
        watches = self._farm.workflow.watches
        if len(watches) == 1:
            await self._look(watches[0].key)
            return
        await self._looks.run({one.name: partial(self._look, one.key) for one in watches})

    def has_brought_in(self, branch: str, sha: str) -> bool:
        """Whether a commit of a branch, without its repository, came in lately: no news, then."""
        return (branch, sha) in self._brought_in

    async def _look(self, repository: str) -> None:
        try:
            await self._bring_in(repository)
        except BenchError:
            # One that was taken out of bench.yml meanwhile is looked at no more.
            if repository in {one.key for one in self._farm.workflow.watches}:
                raise

    async def _bring_in(self, repository: str) -> None:
        """Fetch, then add what each branch has after the newest commit that is known.

        A branch that is seen for the first time gives its tip alone: what came before the farm is
        measured when a search asks for it. But one that parts from a watched branch at a commit
        that the farm has seen gives all that it has since.
        """
        farm = self._farm
        await farm.mirroring.of(repository).refresh()
        if farm.workflow.on.push is None and not farm.workflow.on.schedule:
            return
        taken = await farm.git(farm.history.taken, repository)
        self._say_what_is_left_out(taken[MOST_BRANCHES:])
        for branch in taken[:MOST_BRANCHES]:
            await self._advance(branch)
        for branch in await farm.git(farm.history.missing, repository):
            await farm.git(farm.history.tip, branch)  # says in words that there is none

    def _say_what_is_left_out(self, branches: tuple[str, ...]) -> None:
        if branches and branches != self._left_out:
            _LOG.warn(
                "bench: on.push.branches takes {taken} branches and {most} are the most; {first}"
                " and what follows are not watched: exclude some, as in '!vendor/**'",
                taken=MOST_BRANCHES + len(branches),
                most=MOST_BRANCHES,
                first=", ".join(branches[:3]),
            )
        self._left_out = branches

    async def _advance(self, branch: str) -> None:
        farm = self._farm
        rows = await farm.store.branches()
        before = next((row for row in rows if row.name == branch), None)
        own = [row for row in rows if repository_of(row.name) == repository_of(branch)]
        older = [row for row in own if before is None or row.id < before.id]
        trunk, fork = await self._fork(branch, older)
        if before is None or (before.trunk, before.fork_position) != (trunk, fork):
            await farm.store.keep_branch(branch, trunk=trunk, fork_position=fork)
        parted = await self._forget_what_is_gone(branch)
        after = await self._newest_known(branch, before, trunk, fork) or parted
        found = await farm.git(farm.history.since, branch, after)
        revisions = [revision for revision in found if revision.position > fork]
        if revisions:
            await self._add(branch, revisions, is_first=after is None)

    async def _forget_what_is_gone(self, branch: str) -> Revision | None:
        """Where a branch was moved back or replaced, what it had from there on is its no more.

        Gives the commit from which it went on differently; None when it did not.
        """
        farm = self._farm
        newest = await farm.store.newest_commit(branch)
        if newest is None or branch in await self._carriers(branch, newest):
            return None
        try:
            kept = await farm.git(farm.history.shared, branch, newest.sha)
        except UsageError:  # the mirror lacks the commit: nothing is known to be shared
            kept = 0
        await farm.store.forget_commits(branch, kept)
        _LOG.warn(
            "bench: {branch} was moved back or replaced: {dropped} and commits after n{kept} are"
            " no longer part of it",
            branch=branch,
            dropped=newest.revision.label,
            kept=kept,
        )
        tip = await farm.git(farm.history.tip, branch)
        return (
            await farm.git(farm.history.commit, branch, kept) if 0 < kept < tip.position else None
        )

    async def _carriers(self, branch: str, commit: CommitRow) -> tuple[str, ...]:
        """The branches of a branch's repository that have a commit."""
        farm = self._farm
        return await farm.git(farm.history.carriers, commit.sha, repository_of(branch))

    async def _fork(self, branch: str, older: Sequence[BranchRow]) -> tuple[str | None, int]:
        """The branch with which this one shares most, of those watched before it, and how much."""
        shared = {row.name: await self._shared(branch, row.name) for row in older}
        trunk = max(shared, key=lambda name: shared[name], default=None)
        return (trunk, shared[trunk]) if trunk is not None and shared[trunk] else (None, 0)

    async def _shared(self, branch: str, other: str) -> int:
        """Of a branch that is gone from the repository what was seen of it last counts."""
        farm = self._farm
        if await farm.git(farm.history.has_branch, other):
            return await farm.git(farm.history.shared, branch, other)
        newest = await farm.store.newest_commit(other)
        return 0 if newest is None else await farm.git(farm.history.shared, branch, newest.sha)

    async def _newest_known(
        self, branch: str, before: BranchRow | None, trunk: str | None, fork: int
    ) -> Revision | None:
        """The commit after which a branch's own are to be added; None: of those the tip alone."""
        farm = self._farm
        if before is not None and fork < before.fork_position:
            # What they shared is the branch's own now: one of the two was rewritten.
            newest = await farm.store.newest_commit(branch)
            if newest and branch not in await self._carriers(branch, newest):
                await farm.store.forget_commits(branch, fork)
            return await farm.git(farm.history.commit, branch, fork) if fork else None
        if before is None and trunk is not None:
            known = await farm.store.commit_at(trunk, fork)
        else:
            known = await farm.store.newest_commit(branch)
        return known.revision if known else None

    async def _add(self, branch: str, revisions: Sequence[Revision], *, is_first: bool) -> None:
        farm, now = self._farm, self._farm.now()
        watched = await self._watched(branch, revisions, is_first=is_first)
        rows = [
            NewCommit.of(revision, important=revision.sha in watched, arrived_at=now)
            for revision in revisions
        ]
        await farm.store.add_commits(branch, rows)
        if len(self._brought_in) > _REMEMBERED:
            self._brought_in.clear()
        self._brought_in |= {(name_in_repository(branch), one.sha) for one in revisions}

    async def _watched(
        self, branch: str, revisions: Sequence[Revision], *, is_first: bool
    ) -> frozenset[str]:
        """Those that are measured because they arrived; without `on.push` it is none."""
        farm, watch = self._farm, self._farm.workflow.watch(repository_of(branch))
        if farm.workflow.on.push is None or watch is None:
            return frozenset()
        push = watch.push
        if is_first:
            return frozenset(revision.sha for revision in revisions)
        return await farm.git(farm.history.touching, revisions, push.paths, push.paths_ignore)
