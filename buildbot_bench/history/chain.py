"""The first-parent chain of a branch and the positions along it; it knows no names of commits."""

from __future__ import annotations

from dataclasses import dataclass, field

import pygit2

from buildbot_bench.history.commit import commit_at


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """All first-parent commits from the root to a tip: `oids[0]` has position 1."""

    oids: tuple[pygit2.Oid, ...] = ()
    positions: dict[pygit2.Oid, int] = field(default_factory=dict)

    def moved_to(self, repository: pygit2.Repository, tip: pygit2.Oid) -> Chain:
        """The chain that ends at another tip; only what the two do not share is read."""
        if self.oids and self.oids[-1] == tip:
            return self
        kept, added = self.descent(repository, tip)
        oids = self.oids[:kept] + added
        if kept == len(self.oids):
            new = {oid: kept + i for i, oid in enumerate(added, 1)}
            return Chain(oids=oids, positions=self.positions | new)
        return Chain(oids=oids, positions={oid: i for i, oid in enumerate(oids, 1)})

    def descent(
        self, repository: pygit2.Repository, tip: pygit2.Oid
    ) -> tuple[int, tuple[pygit2.Oid, ...]]:
        """The position where a commit's own first-parent chain leaves this one, and what follows.

        The position is 0 when they have nothing in common.
        """
        following: list[pygit2.Oid] = []
        oid: pygit2.Oid | None = tip
        while oid is not None and oid not in self.positions:
            following.append(oid)
            parents = commit_at(repository, oid).parent_ids
            oid = parents[0] if parents else None
        kept = 0 if oid is None else self.positions[oid]
        return kept, tuple(reversed(following))
