"""The first-parent history of one repository, answered from a bare mirror; it fetches when told.

It may be used from any thread: callers wait for one another, but not for a fetch.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.paths import PathFilter
from buildbot_bench.core.revision import (
    CommitCount,
    Name,
    Particulars,
    Revision,
    RevisionRange,
    SvnNumber,
    parse_spec,
)
from buildbot_bench.history import carry, diff, git, names, svn
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.commit import as_revision, commit_at, person, reviews_of


class MirrorHistory:
    """core.ports.History over a bare mirror of `url` at `path`.

    `branches` are those that people mean by r311849; nNNNNNN counts along the first of them.
    Every method but `fetch` raises InfraError while there is no mirror.
    """

    def __init__(self, path: Path | str, url: str, *, branches: Sequence[str] = ("main",)) -> None:
        self.path = Path(path)
        self.url = url
        self.branches = tuple(branches)
        self._lock = threading.RLock()
        self._opened: pygit2.Repository | None = None
        self._chains: dict[str, Chain] = {}
        self._indices: dict[str, svn.SvnIndex] = {}

    def fetch(self, *, timeout_s: float = 3600.0) -> None:
        """Bring the mirror up to date, or make it; InfraError when the URL does not answer."""
        git.fetch(self.path, self.url, timeout_s=timeout_s)

    def resolve(self, text: str) -> Revision:
        """The revision that a person named; UsageError when there is none, or more than one."""
        with self._lock:
            match parse_spec(text):
                case SvnNumber(number=number):
                    return self._revision(self._by_svn_number(number))
                case CommitCount(number=number):
                    return self._revision(self._by_count(number))
                case Name(text=name):
                    return self._revision(names.lookup(self._repository, name))

    def tip(self, branch: str) -> Revision:
        """The newest revision of a branch; UsageError when there is no such branch."""
        with self._lock:
            return self._revision(self._chain(branch).oids[-1])

    def range(self, old: Revision, new: Revision) -> RevisionRange:
        """All from old to new; UsageError when old is no first-parent ancestor of new."""
        with self._lock:
            first = self._position(pygit2.Oid(hex=old.sha))
            oids = [pygit2.Oid(hex=new.sha)]
            count = self._position(oids[0]) - first
            while len(oids) <= count:
                oids.append(commit_at(self._repository, oids[-1]).parent_ids[0])
            if str(oids[-1]) != old.sha:
                raise _no_range(old, new, count)
            oids.reverse()
            return RevisionRange(revisions=tuple(map(self._revision, oids, itertools.count(first))))

    def since(self, branch: str, after: Revision | None) -> Sequence[Revision]:
        """What a branch has after a revision, oldest first; the tip alone when that is None.

        After a forced push, that is all from where the branch parted from the revision's own
        history. A revision that the mirror lacks, or that shares nothing with the branch, counts
        as None.
        """
        with self._lock:
            chain = self._chain(branch)
            known = 0
            if after is not None and after.sha in self._repository:
                known, _ = chain.descent(self._repository, pygit2.Oid(hex=after.sha))
            return [self._revision(oid) for oid in chain.oids[known or -1 :]]

    def touching(
        self, revisions: Sequence[Revision], paths: Iterable[str], ignored: Iterable[str]
    ) -> frozenset[str]:
        """The hashes of those that change a watched path that is not ignored.

        Patterns are GitHub's. The change is the one against the first parent. Without patterns
        it is all revisions, also those that change no file.
        """
        watched = PathFilter(paths=tuple(paths), ignored=tuple(ignored))
        if watched.takes_all:
            return frozenset(revision.sha for revision in revisions)
        return frozenset(
            sha
            for sha, changed in diff.changed_paths(self.path, revisions)
            if any(map(watched.counts, changed))
        )

    def particulars(self, revision: Revision) -> Particulars:
        """Who committed it, the reviews that it names and the files that it changes."""
        with self._lock:
            commit = commit_at(self._repository, pygit2.Oid(hex=revision.sha))
        [(_, changed)] = diff.changed_paths(self.path, [revision])
        return Particulars(
            committer=person(commit.committer),
            reviews=reviews_of(commit),
            paths=tuple(changed),
        )

    def changed_lines(self, revision: Revision) -> str:
        """What a revision changes against its first parent, as a diff without context."""
        return diff.changed_lines(self.path, revision)

    def patch(self, fix: Revision) -> bytes:
        """What a revision changes against its first parent, as `git apply` takes it."""
        return carry.patch_of(self.path, fix)

    def fits(self, fix: Revision, shas: Iterable[str]) -> dict[str, carry.Fit]:
        """Whether a fix is in some revisions already, fits them, or does not."""
        ((_, paths),) = diff.changed_paths(self.path, [fix])
        patch, found, known = self.patch(fix), dict[str, carry.Fit](), dict[carry.Files, bool]()
        for sha in shas:
            with self._lock:
                is_in = sha == fix.sha or self._repository.descendant_of(sha, fix.sha)
                files = carry.files_at(self._repository, sha, paths)
            if not is_in and files not in known:
                known[files] = carry.applies(self.path, patch, files)
            fit = carry.Fit.FITS if known.get(files) else carry.Fit.NOT
            found[sha] = carry.Fit.IN if is_in else fit
        return found

    @property
    def _repository(self) -> pygit2.Repository:
        if self._opened is None:
            try:
                self._opened = pygit2.Repository(
                    str(self.path), pygit2.enums.RepositoryOpenFlag.BARE
                )
            except pygit2.GitError as error:
                raise InfraError(
                    f"{self.path} is no mirror of {self.url}", hint="fetch it first"
                ) from error
        return self._opened

    def _chain(self, branch: str) -> Chain:
        tip = names.branch_tip(self._repository, branch)
        chain = self._chains.get(branch, Chain()).moved_to(self._repository, tip)
        self._chains[branch] = chain
        return chain

    def _position(self, oid: pygit2.Oid) -> int:
        # A position is a fact of the commit: it holds in a chain whose branch has since moved, too.
        for chain in self._chains.values():
            if oid in chain.positions:
                return chain.positions[oid]
        kept, following = self._chain(self.branches[0]).descent(self._repository, oid)
        return kept + len(following)

    def _revision(self, oid: pygit2.Oid, position: int | None = None) -> Revision:
        return as_revision(
            commit_at(self._repository, oid),
            position=self._position(oid) if position is None else position,
            svn=svn.number_of(svn.notes_of(self._repository), oid),
        )

    def _by_svn_number(self, number: int) -> pygit2.Oid:
        notes = svn.notes_of(self._repository)
        for branch in self.branches:
            index = self._indices.get(branch, svn.SvnIndex()).moved_to(notes, self._chain(branch))
            self._indices[branch] = index
            if number in index.oids:
                return index.oids[number]
        nearest = [f"r{near}" for near in self._indices[self.branches[0]].nearest(number)]
        raise UsageError(
            f"r{number} is no commit of {' or '.join(self.branches)}",
            hint=f"the nearest are {' and '.join(nearest)}"
            if nearest
            else f"the repository has no Subversion numbers in {svn.NOTES}",
        )

    def _by_count(self, number: int) -> pygit2.Oid:
        oids = self._chain(self.branches[0]).oids
        if not 1 <= number <= len(oids):
            raise UsageError(
                f"there is no n{number}", hint=f"{self.branches[0]} has n1 to n{len(oids)}"
            )
        return oids[number - 1]


def _no_range(old: Revision, new: Revision, count: int) -> UsageError:
    if count < 0:
        return UsageError(
            f"{old.label} is newer than {new.label}", hint="name the old end first, then the new"
        )
    return UsageError(
        f"{old.label} ({old.short_sha}) is no first-parent ancestor of {new.label}",
        hint="name two revisions of one branch",
    )
