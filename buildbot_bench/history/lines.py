"""The watched branches of a mirror: their index, ranges, and the history behind them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.revision import (
    ABBREVIATION_LENGTH,
    HEAD,
    MOST_BRANCHES,
    PLAIN_BRANCH,
    Ancestor,
    CommitCount,
    Dated,
    Name,
    Revision,
    Spec,
    SvnNumber,
    named_on_branch,
    natural_order,
    selected_branches,
)
from buildbot_bench.history import names, svn
from buildbot_bench.history.chain import Chain, stored_chain, with_short_tail
from buildbot_bench.history.fetching import Progress
from buildbot_bench.history.git import run_git
from buildbot_bench.history.names import by_count, by_svn_number, doubled
from buildbot_bench.history.objects import is_commit, named_by, tree_of

DIRECTORY = "bench-index"
# Positions of commits off the branches: of side branches, of what a forced push took away.
_STRAYS_KEPT = 10_000


class Index:
    """The chains of branches and the numbers of commits, brought up to date when asked for.

    It is not made for threads. `on_progress` gets how far the reading of a long history is. Every
    method raises InfraError when git cannot read the mirror.
    """

    def __init__(self, mirror: Path, name: str, on_progress: Callable[[Progress], None]) -> None:
        self._mirror = mirror
        self._name = name
        self._on_progress = on_progress
        self._chains: dict[str, Chain] = {}
        self._numbers: svn.SvnNumbers | None = None
        self._strays: dict[str, int] = {}

    def chain(self, repository: pygit2.Repository, branch: str) -> Chain:
        """The commits of a branch as it is now; UsageError when there is none of that name."""
        tip = str(names.branch_tip(repository, branch))
        path = self._mirror / DIRECTORY / f"{sha256(branch.encode()).hexdigest()[:16]}.line"
        known = self._chains.get(branch) or stored_chain(path)
        if not len(known):  # branches share most of their history: it is read once
            known = max(self._chains.values(), key=len, default=known)
        chain = self.led_to(tip, known)
        self._chains[branch] = chain = with_short_tail(chain, path)
        return chain

    def led_to(self, sha: str, chain: Chain) -> Chain:
        """The chain that ends at a commit that the mirror has, by way of another chain."""
        return chain.moved_to(self._mirror, sha, self._read_commits)

    def numbers(self, repository: pygit2.Repository) -> svn.SvnNumbers:
        """The Subversion numbers that the notes give by now."""
        notes = named_by(repository, svn.NOTES)
        tree = None if notes is None else str(tree_of(repository, notes).id)
        path = self._mirror / DIRECTORY / "svn"
        known = svn.stored_numbers(path) if self._numbers is None else self._numbers
        found = known.moved_to(self._mirror, tree, self._read_notes)
        if found.table is not known.table:
            found = svn.store_numbers(found, path)
        self._numbers = found
        return found

    def position(
        self, repository: pygit2.Repository, sha: str, line_of: Callable[[str], Chain]
    ) -> int:
        """The number of first parents up to a commit, itself included; on any branch.

        `line_of` gives a commit's own chain, where it has none that is known.
        """
        # A position is a fact of the commit: it holds when its branch has since moved, too.
        for chain in self._chains.values():
            if (known := chain.known_position(sha)) is not None:
                return known
        if sha not in self._strays:
            if not is_commit(repository, pygit2.Oid(hex=sha)):
                raise InfraError(f"the mirror lacks commit {sha}", hint="fetch it")
            if len(self._strays) >= _STRAYS_KEPT:
                self._strays.clear()
            self._strays[sha] = len(line_of(sha))
        return self._strays[sha]

    def _read_commits(self, count: int) -> None:
        work = f"reading the history of {self._name}"
        self._on_progress(Progress(work=work, count=count, stage="commits"))

    def _read_notes(self, done: int, total: int) -> None:
        work = f"reading the Subversion numbers of {self._name}"
        self._on_progress(Progress(work=work, percent=100 * done // total, stage="read"))


_HEADS = "refs/heads/"
_TIMEOUT_S = 60.0
_MOST_NAMED = 10

End = tuple[Revision, str]
"""An end of a range and the branch that has it; empty when no watched branch does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """The branches that `patterns` take, as they are now.

    `on_warning` gets a line about what is odd in the repository and could be resolved all the same.
    A method that meets no such branch raises UsageError; one that cannot read git, InfraError.
    """

    repository: pygit2.Repository
    index: Index
    patterns: tuple[str, ...]
    on_warning: Callable[[str], None] = lambda _: None

    def taken(self) -> tuple[str, ...]:
        """All branches that the patterns take, in the patterns' order."""
        return selected_branches(self.patterns, names.branches(self.repository))

    def chains(self) -> dict[str, Chain]:
        """The watched branches by name, in their order."""
        found = self.taken()[:MOST_BRANCHES]
        if not found:
            there = filter(PLAIN_BRANCH.fullmatch, names.branches(self.repository))
            known = ", ".join(sorted(there)[:_MOST_NAMED])
            raise UsageError(
                f"there is no branch {' or '.join(map(repr, self.patterns))}",
                hint=f"the branches are {known}" if known else "nothing was fetched",
            )
        return {branch: self.index.chain(self.repository, branch) for branch in found}

    def line(self, sha: str) -> Chain:
        """The first-parent history of a commit, of any branch."""
        chains = self.chains().values()
        nearest = next((chain for chain in chains if chain.position(sha) is not None), None)
        return self.index.led_to(sha, nearest or next(iter(chains)))

    def position(self, sha: str) -> int:
        """How many first parents lead to a commit, itself included."""
        return self.index.position(self.repository, sha, self.line)

    def doubled(self) -> Iterator[str]:
        """A line for each r-number that several commits of one branch claim."""
        return doubled(self.index.numbers(self.repository), self.chains())

    def sha(self, spec: Spec) -> str:
        """The commit that is meant; UsageError when there is none, or more than one."""
        match spec:
            case SvnNumber() | CommitCount():
                return self._numbered(spec, self.chains())
            case Name(text=name):
                return self._named(name)
            case Dated(of=of, day=day):
                return _at(Path(self.repository.path), self.sha(of), spec.at_s, day)
            case Ancestor(of=of, generations=generations):
                sha = self.sha(of)
                return _before(self.line(sha), self.position(sha), generations)

    def _numbered(self, spec: SvnNumber | CommitCount, chains: Mapping[str, Chain]) -> str:
        match spec:
            case SvnNumber(number=number):
                return by_svn_number(
                    self.index.numbers(self.repository),
                    chains,
                    number,
                    partial(_holder, Path(self.repository.path)),
                    self.on_warning,
                )
            case CommitCount(number=number):
                return by_count(chains, number)

    def _named(self, name: str) -> str:
        """The commit of a branch, a tag or a hash; or, as in stable/14-n267886, of a number."""
        if name == HEAD and not names.is_reference(self.repository, name):
            first = next(iter(self.chains().values()))
            return first.sha(len(first))
        on_branch = named_on_branch(name)
        if on_branch is None or names.is_reference(self.repository, name):
            return str(names.lookup(self.repository, name))
        branch, number = on_branch
        return self._numbered(number, {branch: self.index.chain(self.repository, branch)})


def _holder(mirror: Path, sha: str) -> str | None:
    """Some branch that a commit is in, the first by name; None when there is none."""
    listed = run_git(
        mirror,
        "for-each-ref",
        "--format=%(refname)",
        f"--contains={sha}",
        _HEADS,
        timeout_s=_TIMEOUT_S,
    )
    names = (line.decode(errors="replace").removeprefix(_HEADS) for line in listed.splitlines())
    return min(filter(PLAIN_BRANCH.fullmatch, names), key=natural_order, default=None)


def _at(mirror: Path, sha: str, at_s: int, day: str) -> str:
    """The newest commit of a first-parent history that was committed by then."""
    found = run_git(
        mirror,
        "rev-list",
        "--first-parent",
        "--max-count=1",
        f"--min-age={at_s}",
        sha,
        timeout_s=_TIMEOUT_S,
    )
    if not found:
        raise UsageError(
            f"nothing that led to {sha[:ABBREVIATION_LENGTH]} was committed by {day} (UTC)",
            hint="name a later day",
        )
    return found.decode("ascii").strip()


def _before(line: Chain, position: int, generations: int) -> str:
    if generations >= position:
        raise UsageError(
            f"there is no commit {generations} before n{position}",
            hint=f"its history has {position - 1} before it",
        )
    return line.sha(position - generations)


def no_range(old: End, new: End, fork: Revision | None) -> UsageError:
    """What is said of two ends of which neither leads to the other; `fork` is where they part."""
    (old_end, old_branch), (new_end, new_branch) = old, new
    if not (old_branch and new_branch):
        return UsageError(
            f"{old_end.label} ({old_end.short_sha}) is no first-parent ancestor of {new_end.label}",
            hint="name two revisions of one branch; `bench-bisect --local` takes all",
        )
    ends = [_exact(*old), _exact(*new)]
    problem = (
        f"{old_end.label} is on {old_branch} and {new_end.label} on {new_branch}:"
        " neither leads to the other"
    )
    if fork is None:
        return UsageError(problem, hint="the branches share no commit: compare the two instead")
    return UsageError(
        problem,
        hint=f"the branches part at {fork.label}: search {fork.label} to {ends[0]}"
        f" on {old_branch}, and {fork.label} to {ends[1]} on {new_branch}",
    )


def _exact(end: Revision, branch: str) -> str:
    return end.label if end.svn is not None else f"{branch}-{end.label}"
