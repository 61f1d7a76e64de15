"""The index of a mirror's branches and Subversion numbers, in memory and on disk."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pygit2

from buildbot_bench.core.errors import InfraError
from buildbot_bench.history import names, svn
from buildbot_bench.history.chain import Chain, stored_chain, with_short_tail
from buildbot_bench.history.fetching import Progress
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
