"""Commits for pages: a commit's images and values, commit times, and the reviews it names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from buildbot_bench.core.branches import repository_of
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.links import Links
from buildbot_bench.core.revision import Revision
from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.series import PointRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.queries.commit_contrasts import contrast_json, contrast_of
from buildbot_bench.plugin.queries.evidence import span_of
from buildbot_bench.plugin.queries.history import revision_json

Json = dict[str, Any]


async def measured_commit(
    farm: Farm, testbed: str, workload: str, position: int, branch: str
) -> Json | None:
    """The commit that was measured at a position of a branch; None when there is none."""
    images = await farm.store.images_of_history(branch, position, position)
    if not images:
        return None
    revision = await farm.git(_known, farm, images[-1].sha)
    named = revision_json(revision) if revision else {"label": images[-1].label}
    named |= {"sha": images[-1].sha, "position": position}
    held = await contrast_of(farm, images[-1], branch, testbed, workload)
    values = await _values(farm, testbed, workload, images)
    links = farm.workflow.pages_of_commits(repository_of(branch))
    pages = {"commit": links.commit(images[-1].sha), "diff": links.diff(images[-1].sha)}
    return named | values | {"contrast": contrast_json(held), "links": pages}


async def commit_in_search(farm: Farm, search_id: int, offset: int) -> Json | None:
    """The commit so many behind a search's old end; None when there is no such."""
    search = await farm.store.search(search_id)
    if search is None or not 0 <= offset <= search.new_position - search.old_position:
        return None
    span = await farm.git(span_of, farm, search)
    revision = span.revisions[offset]
    found = await farm.store.all_images_between(
        revision.position, revision.position, search.repository
    )
    images = [image for image in found if image.variant == revision.sha]
    values = await _values(farm, search.testbed, search.workload, images)
    return revision_json(revision) | values


def _known(farm: Farm, sha: str) -> Revision | None:
    """The revision, unless a rewritten branch has taken it out of the mirror."""
    try:
        return farm.history.resolve(sha)
    except UsageError:
        return None


async def _values(farm: Farm, testbed: str, workload: str, images: Sequence[ImageRow]) -> Json:
    """What the images of one revision gave."""
    samples = await farm.store.samples_of_images(
        image_ids=[image.id for image in images], testbed=testbed, workload=workload
    )
    return {
        "unit": samples[0].metric.unit if samples else "",
        "samples": [
            {"image": sample.image, "epoch": sample.epoch, "values": list(sample.values)}
            for sample in samples
        ],
        "image_state": str(images[0].state) if images else "",
        "failure": next((image.reason for image in images if image.reason), None)
        or next((i.failure for sample in samples for i in sample.iterations if i.failure), None),
    }


# A message may name more reviews than a reader follows.
MOST_REVIEWS = 5


async def reviews_of(farm: Farm, links: Links, suspects: Sequence[Revision]) -> tuple[str, ...]:
    """The reviews of the one commit that is suspected, as `links` takes them; of several none."""
    if len(suspects) != 1:
        return ()
    (culprit,) = suspects
    known = await farm.git(farm.history.particulars, culprit)
    return links.reviews_of(culprit.subject, known.reviews)[:MOST_REVIEWS]


RETRY_S = 60.0
"""So long a missing commit is not asked for again; chosen: as long as between two polls."""


class CommitTimes:
    """Commit times by hash, in seconds since the epoch: those that were found stay known."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._missing: defaultdict[str, set[str]] = defaultdict(set)
        self._again_s: dict[str, float] = {}
        self._late: Counter[str] = Counter()

    async def of(self, farm: Farm, branch: str, points: Sequence[PointRow]) -> list[int]:
        """The time of each point's commit; 0 where neither the tables nor the mirror have it.

        The tables have what came to the branch since the farm watches it, the mirror all.
        """
        missing = self._missing[branch]
        unknown = [p for p in points if p.sha not in self._known and p.sha not in missing]
        if unknown:
            first, last = unknown[0].position, unknown[-1].position
            self._known |= await farm.store.commit_times(branch, first, last)
            older = {point.sha for point in unknown} - self._known.keys()
            if older:
                self._known |= await farm.git(_from_git, farm, branch, older)
                missing |= older - self._known.keys()
                self._again_s[branch] = farm.now() + RETRY_S
        return [self._known.get(point.sha, 0) for point in points]

    async def found_late(self, farm: Farm, branch: str) -> int:
        """How many commits of a branch were missing first, and came; once a minute it looks."""
        missing = self._missing.get(branch)
        if missing and farm.now() >= self._again_s[branch]:
            self._again_s[branch] = farm.now() + RETRY_S
            found = await farm.git(_from_git, farm, branch, frozenset(missing))
            self._known |= found
            missing -= found.keys()
            self._late[branch] += len(found)
        return self._late[branch]


def _from_git(farm: Farm, branch: str, shas: Collection[str]) -> Mapping[str, int]:
    """Those that are there; nothing before the mirror is."""
    try:
        history = farm.history.of(branch)
    except UsageError:  # its repository is watched no more
        return {}
    return dict(_times(history, shas)) if history.is_there else {}


def _times(history: MirrorHistory, shas: Iterable[str]) -> Iterable[tuple[str, int]]:
    for sha in shas:
        try:
            yield sha, history.resolve(sha).committed_at_s
        except UsageError:  # a rewritten branch has left it, or it was not fetched yet
            continue
        except InfraError:
            return
