"""The prior of a search by the files that its commits touch, and by exact testbeds' figures."""

import gzip
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from zlib import error as zlib_error

from twisted.internet.threads import deferToThread

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.read_files import FileChange, ReadFiles, parse_read_files, union
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.touched import CommitPrior, commit_prior, exact_levels, exact_weights
from buildbot_bench.plugin.db.finding_rows import NewSearch, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.calculating import calculate
from buildbot_bench.plugin.farm.series import all_series, series_at

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
