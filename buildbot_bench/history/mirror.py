"""The first-parent history of one repository from a bare mirror, for use from any thread."""

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError, StoppedError, UsageError
from buildbot_bench.core.read_files import FileChange
from buildbot_bench.core.report.related import Kin
from buildbot_bench.core.revision import (
    MOST_BRANCHES,
    Name,
    Particulars,
    Revision,
    RevisionRange,
    is_literal,
    parse_spec,
)
from buildbot_bench.core.triggers import PathFilter
from buildbot_bench.history import fetching, git, names
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.fetching import Progress
from buildbot_bench.history.kin import kin_of
from buildbot_bench.history.lines import Index, Lines, no_range
from buildbot_bench.history.names import by_count
from buildbot_bench.history.objects import (
    as_revision,
    commit_at,
    committer_of,
    harmless,
    is_commit,
    reviews_of,
)

# Who puts so many odd numbers into a repository knows of them.
_MOST_WARNINGS = 100


def mirror_path(base: Path, repository: str) -> Path:
    """Where a master in the directory `base` keeps a mirror.

    `repository` is what the names of its branches have in front; empty, of the first one.
    """
    return base / "mirrors" / f"{repository}.git" if repository else base / "mirror.git"


class MirrorHistory:
    """The history of a bare mirror of `url` at `path`.

    `branches` are GitHub's patterns: the branches that they take are those that people mean by
    r311849 and n245062, and commits that several of them have are those of the first. `name` is
    what messages call it, its URL's last part unless it is given.
    `on_progress` gets, in the thread that waits for it, how far a fetch or a long reading is, and
    `on_warning`, once, a line about what is odd in the repository.
    Every method but `fetch` raises InfraError while there is no mirror.
    """

    def __init__(
        self,
        path: Path | str,
        url: str,
        *,
        branches: Sequence[str] = ("main",),
        name: str | None = None,
        on_progress: Callable[[Progress], None] = lambda _: None,
        on_warning: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path = Path(path)
        self.url = url
        own = url.rstrip("/").rpartition("/")[2].removesuffix(".git")
        self.name = name or harmless(own.encode())
        self.patterns = tuple(branches)
        self._on_progress = on_progress
        self._on_warning = on_warning
        self._warned: set[str] = set()
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._index = Index(self.path, self.name, self._report)

    @property
    def is_there(self) -> bool:
        """Whether a fetch has ever ended well: git sets the branches when it has all else."""
        try:
            with self._lock:
                return bool(self._repository.listall_references())
        except InfraError:
            return False

    def fetch(self, *, timeout_s: float = 3600.0) -> None:
        """Bring the mirror up to date, or make it; InfraError when the URL does not answer.

        `timeout_s` is how long it may come no further.
        """
        work = f"{'fetching' if self.is_there else 'cloning'} {self.name}"
        self._go_on()
        fetching.fetch(
            self.path,
            self.url,
            timeout_s=timeout_s,
            work=work,
            on_progress=self._report,
            stop=self._stop,
        )

    def index(self) -> None:
        """Read what is not known yet of the branches, so that nobody who asks waits for it."""
        self._go_on()
        with self._lock:
            self._index.numbers(self._repository)
            for branch in self.watched():
                self._index.chain(self._repository, branch)

    def taken(self) -> tuple[str, ...]:
        """All branches that the patterns take by now; the first MOST_BRANCHES are watched."""
        with self._lock:
            return self._lines.taken()

    def watched(self) -> tuple[str, ...]:
        """The watched branches, in their order."""
        return self.taken()[:MOST_BRANCHES]

    def missing(self) -> tuple[str, ...]:
        """The branches that are named without a pattern and are not there."""
        there = set(self.taken())
        named = (pattern for pattern in self.patterns if is_literal(pattern))
        return tuple(name for name in named if name not in there)

    def stop(self) -> None:
        """End the fetch or the long reading that goes on, and begin none: its caller shuts down.

        They raise StoppedError.
        """
        self._stop.set()

    def _report(self, progress: Progress) -> None:
        self._go_on()
        self._on_progress(progress)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise StoppedError(f"the reading of {self.name} was stopped")

    def resolve(self, text: str) -> Revision:
        """The revision that a person named; UsageError when there is none, or more than one."""
        with self._lock:
            return self._revision(self._lines.sha(parse_spec(text)))

    def oddities(self, text: str | None = None) -> tuple[str, ...]:
        """What to doubt of a name that `resolve` takes; or, without one, the odd r-numbers."""
        told: list[str] = []
        with self._lock:
            if text is None:
                return tuple(itertools.islice(self._lines.doubled(), _MOST_WARNINGS))
            replace(self._lines, on_warning=told.append).sha(parse_spec(text))
        return tuple(told)

    def carriers(self, sha: str) -> tuple[str, ...]:
        """The watched branches that have a commit in their first-parent history, in their order."""
        with self._lock:
            chains = self._lines.chains()
            return tuple(name for name, chain in chains.items() if chain.position(sha) is not None)

    def has(self, sha: str) -> bool:
        """Whether the mirror is there and has that commit."""
        try:
            with self._lock:
                return is_commit(self._repository, pygit2.Oid(hex=sha))
        except InfraError:
            return False

    def has_branch(self, name: str) -> bool:
        """Whether the repository has such a branch by now."""
        with self._lock:
            return name in names.branches(self._repository)

    def shared(self, branch: str, other: str) -> int:
        """How many of the first commits of a branch another branch, or a commit, has too."""
        with self._lock:
            chain = self._chain(branch)
            if other in names.branches(self._repository):
                return chain.shared_with(self._chain(other))
            return chain.shared_with(self._index.led_to(self._lines.sha(Name(text=other)), chain))

    def commit(self, branch: str, position: int) -> Revision:
        """The revision at a position of a branch; UsageError when it is not that long."""
        with self._lock:
            return self._revision(by_count({branch: self._chain(branch)}, position), position)

    def tip(self, branch: str) -> Revision:
        """The newest revision of a branch; UsageError when there is no such branch."""
        with self._lock:
            chain = self._chain(branch)
            return self._revision(chain.sha(len(chain)), len(chain))

    def range(self, old: Revision, new: Revision) -> RevisionRange:
        """All from old to new; UsageError when old is no first-parent ancestor of new."""
        with self._lock:
            first, last = self._lines.position(old.sha), self._lines.position(new.sha)
            line = self._lines.line(new.sha)
            if first > last or line.sha(first) != old.sha:
                raise self._no_range(old, new)
            return RevisionRange(revisions=self._revisions(line, first, last))

    def base(self, old: Revision, new: Revision) -> Revision:
        """Where a range of two named ends begins: old, or where it left the history of new.

        That is old as well where both ends are on watched branches, each of which is a history.
        """
        with self._lock:
            ours, theirs = self._lines.line(old.sha), self._lines.line(new.sha)
            shared = ours.shared_with(theirs)
            watched = all(any(self.carriers(end.sha)) for end in (old, new))
            if not shared or watched or ours.position(new.sha) is not None:
                return old
            return self._revision(ours.sha(shared), shared)

    def since(self, branch: str, after: Revision | None) -> Sequence[Revision]:
        """What a branch has after a revision, oldest first; the tip alone when that is None.

        After a forced push, that is all from where the branch parted from the revision's own
        history. A revision that the mirror lacks, or that shares nothing with the branch, counts
        as None.
        """
        with self._lock:
            chain = self._chain(branch)
            known = 0
            if after is not None and is_commit(self._repository, pygit2.Oid(hex=after.sha)):
                known = chain.shared_with(self._index.led_to(after.sha, chain))
            return self._revisions(chain, known + 1 if known else len(chain), len(chain))

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
            for sha, changed in git.changed_paths(self.path, revisions)
            if any(map(watched.counts, changed))
        )

    def particulars(self, revision: Revision) -> Particulars:
        """Who committed it, the reviews that it names and the files that it changes."""
        with self._lock:
            commit = commit_at(self._repository, pygit2.Oid(hex=revision.sha))
        [(_, changed)] = git.changed_paths(self.path, [revision])
        return Particulars(
            committer=committer_of(commit),
            reviews=reviews_of(commit),
            paths=tuple(changed),
        )

    def file_changes(self, revisions: Sequence[Revision]) -> list[tuple[FileChange, ...]]:
        """What each of some revisions does to which files, against its first parent."""
        found = git.file_changes(self.path, revisions)
        return [tuple(changes) for _, changes in found]

    def changed_lines(self, revision: Revision) -> str:
        """What a revision changes against its first parent, as a diff without context."""
        return git.changed_lines(self.path, revision)

    def patch(self, fix: Revision) -> bytes:
        """What a revision changes against its first parent, as `git apply` takes it."""
        return git.patch_of(self.path, fix)

    def kin(self, sha: str, branch: str) -> tuple[Kin, ...]:
        """The reverts and picks of a commit; of several branches that have one, `branch` first."""
        return kin_of(self.path, sha, branch)

    def fits(self, fix: Revision, shas: Iterable[str]) -> dict[str, git.Fit]:
        """Whether a fix is in some revisions already, fits them, or does not."""
        ((_, paths),) = git.changed_paths(self.path, [fix])
        patch, asked = self.patch(fix), tuple(shas)
        found, known = dict[str, git.Fit](), dict[git.Files, bool]()
        having = git.descendants(self.path, fix, asked)
        for sha in asked:
            if sha in having:
                found[sha] = git.Fit.IN
                continue
            with self._lock:
                files = git.files_at(self._repository, sha, paths)
            if files not in known:
                known[files] = git.applies(self.path, patch, files)
            found[sha] = git.Fit.FITS if known[files] else git.Fit.NOT
        return found

    def _no_range(self, old: Revision, new: Revision) -> UsageError:
        """Why two revisions are no range: they are the wrong way round, or of two branches."""
        ours, theirs = self._lines.line(old.sha), self._lines.line(new.sha)
        if ours.position(new.sha) is not None:
            return UsageError(
                f"{old.label} is newer than {new.label}",
                hint="name the old end first, then the new",
            )
        shared = ours.shared_with(theirs)
        fork = self._revision(ours.sha(shared), shared) if shared else None
        branches = [next(iter(self.carriers(end.sha)), "") for end in (old, new)]
        return no_range((old, branches[0]), (new, branches[1]), fork)

    @cached_property
    def _repository(self) -> pygit2.Repository:
        try:
            return pygit2.Repository(str(self.path), pygit2.enums.RepositoryOpenFlag.BARE)
        except pygit2.GitError as error:
            raise InfraError(
                f"{self.path} is no mirror of {self.url}", hint="fetch it first"
            ) from error

    @property
    def _lines(self) -> Lines:
        return Lines(
            repository=self._repository,
            index=self._index,
            patterns=self.patterns,
            on_warning=self._warn,
        )

    def _warn(self, line: str) -> None:
        if line not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(line)
            self._on_warning(line)

    def _chain(self, branch: str) -> Chain:
        return self._index.chain(self._repository, branch)

    def _revisions(self, line: Chain, first: int, last: int) -> tuple[Revision, ...]:
        numbers = self._index.numbers(self._repository)
        return tuple(
            as_revision(
                commit_at(self._repository, pygit2.Oid(hex=sha)),
                position=position,
                svn=numbers.of(sha),
            )
            for position, sha in enumerate(line.between(first, last), first)
        )

    def _revision(self, sha: str, position: int | None = None) -> Revision:
        return as_revision(
            commit_at(self._repository, pygit2.Oid(hex=sha)),
            position=self._lines.position(sha) if position is None else position,
            svn=self._index.numbers(self._repository).of(sha),
        )
