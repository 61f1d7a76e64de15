"""What the core asks of the world, as protocols; their adapters live outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from buildbot_bench.core.revision import Particulars, Revision, RevisionRange
from buildbot_bench.core.sample import Sample


class History(Protocol):
    """The first-parent history of one repository."""

    def resolve(self, text: str) -> Revision:
        """The revision that a person named; UsageError when there is none."""

    def tip(self, branch: str) -> Revision:
        """The newest revision of a branch; UsageError when there is no such branch."""

    def range(self, old: Revision, new: Revision) -> RevisionRange:
        """All from old to new; UsageError when old is no first-parent ancestor of new."""

    def since(self, branch: str, after: Revision | None) -> Sequence[Revision]:
        """What a branch has after a revision, oldest first; the tip alone when that is None."""

    def touching(
        self, revisions: Sequence[Revision], paths: Iterable[str], ignored: Iterable[str]
    ) -> frozenset[str]:
        """The hashes of those that change a watched path that is not ignored."""

    def particulars(self, revision: Revision) -> Particulars:
        """Who committed it, the reviews that it names and the files that it changes."""


class SampleStore(Protocol):
    """All that was ever measured."""

    async def samples(
        self, *, testbed: str, workload: str, first_position: int, last_position: int
    ) -> Sequence[Sample]:
        """The samples of a span of commits, in the order of their positions and images."""
