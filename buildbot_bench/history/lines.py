"""The watched branches of a mirror: names on them, ranges, and the history behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from buildbot_bench.core.branches import (
    MOST_BRANCHES,
    PLAIN_BRANCH,
    natural_order,
    selected_branches,
)
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import (
    ABBREVIATION_LENGTH,
    HEAD,
    Ancestor,
    CommitCount,
    Dated,
    Name,
    Revision,
    Spec,
    SvnNumber,
    named_on_branch,
)
from buildbot_bench.history import names
from buildbot_bench.history.chain import Chain
from buildbot_bench.history.git import run_git
from buildbot_bench.history.index import Index
from buildbot_bench.history.names import by_count, by_svn_number, doubled

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
                    self._holder,
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

    def _holder(self, sha: str) -> str | None:
        return _holder(Path(self.repository.path), sha)


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
    """The commit so many first parents before the one at a position."""
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
            hint="name two revisions of one branch",
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
    """A name that no other branch has."""
    return end.label if end.svn is not None else f"{branch}-{end.label}"
