"""The ranges of a search, inside merges too, and its prior over the commits."""

import gzip
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from zlib import error as zlib_error

from twisted.internet.threads import deferToThread

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.read_files import FileChange, ReadFiles, parse_read_files, union
from buildbot_bench.core.report.related import Inside
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.touched import CommitPrior, commit_prior, exact_levels, exact_weights
from buildbot_bench.core.variant import MergedCommit, Recipe
from buildbot_bench.local.merges import Brought, Merges
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, series_at
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


_ENDS = 2  # figures: one alone shows no move


async def weights_by_exact_figures(
    farm: Farm, search: NewSearch, span: RevisionRange, base: Sequence[float] | None = None
) -> tuple[float, ...] | None:
    """What an exact testbed counted of the search's workload, as prior weights over `base`.

    Gates come first, then all others that count it; None without base and without such a testbed.
    """
    gates = series_at(farm, search.testbed, search.workload).gates
    counting = [
        series.testbed
        for series in all_series(farm.workflow.bench_jobs)
        if series.workload == search.workload
        and series.testbed != search.testbed
        and series.measures(search.branch)
    ]
    old, new = span.old.position, span.new.position
    for testbed in dict.fromkeys((*gates, *counting)):
        samples = await farm.store.samples(
            (testbed, search.workload), (old, new), branch=search.branch
        )
        levels = {at - old: level for at, level in exact_levels(samples).items()}
        if len(levels) >= _ENDS:
            relevant = search.min_effect
            return await calculate(exact_weights, span.n, levels, relevant=relevant, base=base)
    return None if base is None else tuple(base)


# Builds of one range read much the same: so many different lists are united.
MOST_LISTS = 16
# Each running search is looked at in every cycle.
_PRIORS_KEPT = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class _Question:
    """All that a prior depends on; questions with the same names have the same answer."""

    old: str
    new: str
    lists: tuple[str, ...]
    capture: str
    no_ops: frozenset[int]
    changes: Sequence[Sequence[FileChange]] = field(compare=False)
    bodies: Mapping[str, bytes] = field(compare=False)
    places: bytes | None = field(compare=False)


async def prior_of(
    farm: Farm,
    search: NewSearch,
    span: RevisionRange,
    images: Collection[ImageRow],
    no_ops: frozenset[int],
) -> CommitPrior | None:
    """The prior of a search over a range; None when no build of it reported what it read.

    `no_ops` are indices into the range. Captures that were taken after the search do not count: it
    did not know them.
    """
    lists = await _lists(farm, search, images)
    if not lists or not span.n:
        return None
    ended_at = search.ended_at if isinstance(search, SearchRow) else None
    capture = await farm.store.capture_of_workload(search.series, ended_at)
    try:
        changes = await farm.git(farm.file_changes, span.revisions[1:])
    except InfraError:  # a search goes on without it
        return None
    question = _Question(
        old=span.old.sha,
        new=span.new.sha,
        lists=lists,
        capture=capture.digest if capture else "",
        no_ops=no_ops,
        changes=changes,
        bodies=await farm.store.read_files(lists),
        places=capture.places if capture else None,
    )
    return await deferToThread(_prior, question)


async def _lists(farm: Farm, search: NewSearch, images: Collection[ImageRow]) -> tuple[str, ...]:
    """The digests of what builds of the range read; without any, of the last build before it."""
    known = sorted({image.read_files for image in images if image.read_files})
    if not known:
        before = await farm.store.newest_listed(search.branch, search.old_position)
        known = [before] if before else []
    return tuple(known[:MOST_LISTS])


@lru_cache(maxsize=_PRIORS_KEPT)
def _prior(asked: _Question) -> CommitPrior | None:
    """None when a list cannot be read: what it would have said may be anything."""
    try:
        read = union([parse_read_files(asked.bodies[digest]) for digest in asked.lists])
    except (KeyError, UsageError):
        return None
    return commit_prior(asked.changes, read, _ran(asked.places, read), no_ops=asked.no_ops)


def _ran(places: bytes | None, read: ReadFiles) -> frozenset[str]:
    """The files that were read in which functions of a capture lie.

    A builder may have had its source tree anywhere: a place is the file with the longest name that
    it ends in.
    """
    try:
        known = json.loads(gzip.decompress(places)) if places else {}
    except (OSError, EOFError, ValueError, zlib_error):
        return frozenset()
    paths = {place.rpartition(":")[0] for place in known.values()}
    return frozenset(name for path in paths if (name := _name_of(path, read)))


def _name_of(path: str, read: ReadFiles) -> str:
    while path and path not in read.names:
        path = path.partition("/")[2]
    return path
