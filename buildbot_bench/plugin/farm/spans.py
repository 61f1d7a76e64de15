"""The ranges of a search: its own, and one inside each merge at which it arrives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from buildbot_bench.core.report.related import Inside
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.variant import MergedCommit, Recipe
from buildbot_bench.local.merges import Brought, Merges
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git

# To merge each commit of a large branch takes git seconds; a search asks in every cycle.
_KEPT = 64
# The first time it holds up the broker's cycle.
MOST_INSIDE = 1000
"""A merge of more commits counts as one commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """A commit as people know it, `made`, which is the same or what git made of it, and how."""

    shown: Revision
    made: Revision
    recipe: Recipe


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeSpan:
    """What a `merge` brought, counted from 0: each commit merged with `onto`, or as it stands.

    Those at the positions `conflicts` cannot be built.
    """

    merge: Revision
    commits: tuple[Built, ...]
    onto: Revision | None
    conflicts: frozenset[int]

    @property
    def shown(self) -> RevisionRange:
        """The commits as people know them."""
        return RevisionRange(revisions=tuple(one.shown for one in self.commits))

    @property
    def inside(self) -> Inside:
        """The merge as a report tells of it, before anything is known."""
        return Inside(merge=self.merge, shown=self.shown, onto=self.onto)


def spans_inside(
    mirror: Path,
    between: RevisionRange,
    answers: Sequence[Answer],
    chosen: Callable[[Sequence[Step]], Step | None],
) -> list[MergeSpan]:
    """The ranges inside merges to which these answers lead, from that of `between` inwards.

    `chosen` is the step of an answer that counts. Where it is not one commit, or no merge, they
    end.

    Raises InfraError: git fails.
    """
    found: list[MergeSpan] = []
    commits = tuple(
        Built(shown=one, made=one, recipe=Recipe(sha=one.sha)) for one in between.revisions
    )
    for answer in answers:
        step = chosen(answer.steps)
        if step is None or step.new != step.old + 1:
            break
        span = _inside(mirror, commits[step.old], commits[step.new])
        if span is None:
            break
        found.append(span)
        commits = span.commits
    return found


def sizes_of_merges(mirror: Path, between: RevisionRange) -> tuple[int, ...]:
    """How many commits each merge brought into which a search of the range would go."""
    sizes = Merges(revisions=_revisions(mirror)).sizes(between).values()
    return tuple(size for size in sizes if size <= MOST_INSIDE)


def _revisions(mirror: Path) -> Revisions:
    return Revisions(git=Git(place=mirror, home=mirror))


@lru_cache(maxsize=_KEPT)
def _inside(mirror: Path, before: Built, merge: Built) -> MergeSpan | None:
    revisions = _revisions(mirror)
    ends = before.shown, merge.shown
    if not sizes_of_merges(mirror, RevisionRange(revisions=ends)):
        return None
    brought = Merges(revisions=revisions).brought(before.made, merge.made, shown=ends)
    if brought is None:
        return None
    known = {one.made.sha: one.recipe for one in (before, merge)}
    pairs = enumerate(zip(brought.shown.revisions, brought.built.revisions, strict=True))
    return MergeSpan(
        merge=merge.shown,
        onto=brought.onto,
        conflicts=brought.conflicts,
        commits=tuple(
            Built(
                shown=shown,
                made=made,
                recipe=_recipe(made.sha, revisions, brought, known)
                if brought.onto and at not in brought.conflicts
                else Recipe(sha=made.sha),
            )
            for at, (shown, made) in pairs
        ),
    )


def _recipe(sha: str, revisions: Revisions, brought: Brought, known: dict[str, Recipe]) -> Recipe:
    """How a builder makes what git made here: of its first parent, merged with the second."""
    if sha not in known:
        onto, other = revisions.parents(sha)
        base = _recipe(onto, revisions, brought, known)
        merged = MergedCommit(sha=other, under=brought.under.get(other, ""))
        known[sha] = replace(base, merged=(*base.merged, merged))
    return known[sha]
