"""The histories of a farm's repositories as one history.

Facts of a commit follow from its hash, so that any mirror with the commit may be asked; names and
branches belong to one repository.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from buildbot.config import ConfigErrors

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.core.report.related import Kin
from buildbot_bench.core.revision import (
    SHA_LENGTH,
    Particulars,
    Revision,
    RevisionRange,
    branch_in,
    name_in_repository,
    repository_named,
    repository_of,
)
from buildbot_bench.history import Fit, MirrorHistory
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.repositories import WatchedRepository

_SHA = re.compile(rf"[0-9a-f]{{{SHA_LENGTH}}}")


class FarmHistory:
    """The histories of repositories by what their branches have in front; `names` are bench.yml's.

    Branches are named as the farm does, `ports:main`. Methods raise what MirrorHistory's do;
    UsageError, too, for a repository that is not watched.
    """

    def __init__(
        self,
        by_repository: Mapping[str, MirrorHistory],
        names: Mapping[str, str] = MappingProxyType({}),
        former: Sequence[MirrorHistory] = (),
    ) -> None:
        """`former` are of repositories that are watched no more: their hashes still count."""
        self._all = dict(by_repository)
        self._names = dict(names)
        self._former = tuple(former)

    def of(self, branch: str) -> MirrorHistory:
        """The history of a branch's repository."""
        return self._in(repository_of(branch))

    def repository(self, written: str) -> str:
        """The repository of a revision as a person writes it: of `ports:n12`, and of `n12`."""
        return self.place(written)[0]

    def named(self, name: str) -> str:
        """The repository that bench.yml calls so: what its branches have in front."""
        if name in self._names:
            return self._names[name]
        raise UsageError(f"there is no repository {quoted(name)}", hint=self._known())

    def resolve(self, written: str, repository: str = "") -> Revision:
        """The revision that a person named; UsageError when there is none, or more than one.

        It is of `repository` unless they name another one, or write a whole hash of another.
        """
        if self._former and _SHA.fullmatch(written):
            return self._having(written).resolve(written)
        key, text = self.place(written, repository)
        return self._in(key).resolve(text)

    def oddities(self, written: str | None = None) -> tuple[str, ...]:
        """What to doubt of a name that `resolve` takes; or, without one, the odd r-numbers."""
        if written is not None:
            repository, text = self.place(written)
            return self._in(repository).oddities(text)
        return tuple(line for one in self._all.values() for line in one.oddities())

    def carriers(self, sha: str, repository: str = "") -> tuple[str, ...]:
        """The watched branches of a repository that have a commit, in their order."""
        found = self._in(repository).carriers(sha)
        return tuple(branch_in(repository, name) for name in found)

    def taken(self, repository: str = "") -> tuple[str, ...]:
        """All branches of a repository that are to be watched by now."""
        return tuple(branch_in(repository, name) for name in self._in(repository).taken())

    def missing(self, repository: str = "") -> tuple[str, ...]:
        """The branches of a repository that are named without a pattern and are not there."""
        return tuple(branch_in(repository, name) for name in self._in(repository).missing())

    def has_branch(self, branch: str) -> bool:
        """Whether the repository has such a branch by now."""
        return self.of(branch).has_branch(name_in_repository(branch))

    def shared(self, branch: str, other: str) -> int:
        """How many of a branch's first commits another one of its repository, or a commit, has."""
        return self.of(branch).shared(name_in_repository(branch), name_in_repository(other))

    def commit(self, branch: str, position: int) -> Revision:
        """The revision at a position of a branch."""
        return self.of(branch).commit(name_in_repository(branch), position)

    def tip(self, branch: str) -> Revision:
        """The newest revision of a branch."""
        return self.of(branch).tip(name_in_repository(branch))

    def since(self, branch: str, after: Revision | None) -> Sequence[Revision]:
        """What a branch has after a revision, oldest first; the tip alone when that is None."""
        return self.of(branch).since(name_in_repository(branch), after)

    def base(self, old: Revision, new: Revision) -> Revision:
        """Where a range of two named ends begins: old, or where it left the history of new."""
        return self._having(old.sha, new.sha).base(old, new)

    def range(self, old: Revision, new: Revision) -> RevisionRange:
        """All from old to new; UsageError when old is no first-parent ancestor of new."""
        return self._having(old.sha, new.sha).range(old, new)

    def touching(
        self, revisions: Sequence[Revision], paths: Iterable[str], ignored: Iterable[str]
    ) -> frozenset[str]:
        """The hashes of those, of one repository, that change a watched path."""
        return self._having_all(revisions).touching(revisions, paths, ignored)

    def particulars(self, revision: Revision) -> Particulars:
        """Who committed it, the reviews that it names and the files that it changes."""
        return self._having(revision.sha).particulars(revision)

    def file_changes(self, revisions: Sequence[Revision]) -> list[tuple[FileChange, ...]]:
        """What each of some revisions of one repository does to which files."""
        return self._having_all(revisions).file_changes(revisions)

    def changed_lines(self, revision: Revision) -> str:
        """What a revision changes against its first parent, as a diff without context."""
        return self._having(revision.sha).changed_lines(revision)

    def patch(self, fix: Revision) -> bytes:
        """What a revision changes against its first parent, as `git apply` takes it."""
        return self._having(fix.sha).patch(fix)

    def kin(self, sha: str, branch: str) -> tuple[Kin, ...]:
        """The reverts and picks of a commit, in its own repository."""
        return self._having(sha).kin(sha, branch)

    def fits(self, fix: Revision, shas: Sequence[str]) -> dict[str, Fit]:
        """Whether a fix is in some revisions of its repository already, fits them, or does not."""
        return self._having(fix.sha, *shas).fits(fix, shas)

    def mirror(self, *shas: str) -> Path:
        """Where the mirror is that has these commits."""
        return self._having(*shas).path

    def fetch(self) -> None:
        """Bring all mirrors up to date, or make them."""
        for one in self._all.values():
            one.fetch()

    def stop(self) -> None:
        """End what goes on; see MirrorHistory.stop."""
        for one in self._all.values():
            one.stop()

    def _in(self, repository: str) -> MirrorHistory:
        if repository in self._all:
            return self._all[repository]
        raise UsageError(f"there is no repository {quoted(repository)}", hint=self._known())

    def _known(self) -> str:
        return (
            f"this farm has {', '.join(self._names)}"
            if len(self._names) > 1
            else "this farm watches one alone: leave the repository out"
        )

    def place(self, written: str, repository: str = "") -> tuple[str, str]:
        """The repository that a person means, and what they name in it.

        Without a name it is `repository`, or, of a whole hash, the first that has it. A date may
        have a colon behind its brace.
        """
        name, text = repository_named(written)
        if name:
            return self.named(name), text
        if len(self._all) > 1 and _SHA.fullmatch(written):
            known = (repository, *self._all)
            return next((key for key in known if self._in(key).has(written)), repository), written
        return repository, written

    def _having_all(self, revisions: Sequence[Revision]) -> MirrorHistory:
        ends = {revision.sha for revision in (*revisions[:1], *revisions[-1:])}
        return self._having(*ends)

    def _having(self, *shas: str) -> MirrorHistory:
        """The first history that has all these commits."""
        first = next(iter(self._all.values()))
        there = (*self._all.values(), *self._former)
        if len(there) == 1:
            return first
        holders = [one for one in there if all(map(one.has, shas))]
        if holders:
            return holders[0]
        if len(shas) > 1 and all(any(one.has(sha) for one in there) for sha in shas):
            raise UsageError(
                "these commits are of different repositories", hint="name commits of one of them"
            )
        return first


_STATE = ("bench", "FirstRepository")


@dataclass(frozen=True, kw_only=True, slots=True)
class First:
    """The first repository as bench.yml had it."""

    name: str
    url: str


def problem_of(first: WatchedRepository, before: First | None, others: Collection[str]) -> str:
    """Why a repository cannot be the first one; empty when it can.

    One with another name, or another URL, may be the same; one with both is not. `others` are the
    names by which the tables know those that were not the first.
    """
    if first.name and first.name in others:
        return f"the tables have {first.name} as one that is not the first: its rows bear that name"
    if before is None or before.name == first.name or before.url == first.url:
        return ""
    return (
        f"the first one was {before.name or before.url}: what was measured of it has no name in"
        f" front, and would be mixed with that of {first.name or first.url}"
    )


async def require_same_first(master: Any, store: BenchStore, workflow: Workflow) -> None:
    """See that the first repository is the one that it was, and remember it."""
    first, state = workflow.watches[0], master.db.state
    objectid = await state.getObjectId(*_STATE)
    kept = await state.getState(objectid, "first", None)
    before = First(**kept) if kept else None
    others = {repository_of(row.name) for row in await store.branches()}
    if problem := problem_of(first, before, others - {""}):
        told = (
            f"bench.yml: {first.name or first.url} cannot be the first repository: {problem}."
            " Keep the first one first; to measure it no more, take its job out of `needs`"
        )
        raise ConfigErrors([told])
    now = First(name=first.name, url=first.url)
    if now != before:
        await state.setState(objectid, "first", asdict(now))
