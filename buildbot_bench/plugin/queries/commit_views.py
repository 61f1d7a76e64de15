"""One commit of a series with the values of its images, for the pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from buildbot_bench.core.branches import repository_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.revision import Revision
from buildbot_bench.plugin.db.rows import ImageRow
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
