"""Which branches a farm watches, and which of them a commit is of; it fetches nothing.

What branches share is of the one that was watched first, so that it is measured and judged once.
"""

from __future__ import annotations

from buildbot_bench.core.branches import MOST_BRANCHES
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm

UNWATCHED = ""
"""The branch of a commit that no watched branch has in its first-parent history."""


async def known_branches(farm: Farm) -> tuple[str, ...]:
    """All branches that were ever watched, those that are watched now first, in their order."""
    watched = await watched_branches(farm)
    seen = [row.name for row in await farm.store.branches()]
    return (*watched, *(name for name in seen if name not in watched))


async def watched_branches(farm: Farm) -> tuple[str, ...]:
    """The branches that were seen and are watched; until one is, those that bench.yml names."""
    push = farm.workflow.on.followed
    seen = push.watched(row.name for row in await farm.store.branches())
    return seen[:MOST_BRANCHES] or push.named


async def first_branch(farm: Farm) -> str:
    """The branch that is meant where none is named: the first of those that are watched."""
    return next(iter(await watched_branches(farm)), UNWATCHED)


async def branch_to_name(farm: Farm, branch: str) -> str:
    """How readers are told of a branch: by its name, or, where it is the only one, not at all."""
    return branch if len(await watched_branches(farm)) > 1 else ""


async def branch_of_commit(farm: Farm, sha: str) -> str:
    """The branch that has a commit; of several the one that was watched first."""
    came = await farm.store.branch_of(sha)
    if came is not None:
        return came
    carriers = await farm.git(farm.history.carriers, sha)
    seen = [row.name for row in await farm.store.branches() if row.name in carriers]
    return next(iter((*seen, *carriers)), UNWATCHED)


async def branch_of_image(farm: Farm, image: ImageRow) -> str:
    """The branch on which what an image measures is judged."""
    return image.branch or await farm.store.branch_of(image.sha) or await first_branch(farm)


async def branch_of_judgement(farm: Farm, row: JudgementRow) -> str:
    """The branch on which a judgement was made."""
    return row.branch or await farm.store.branch_of(row.new_sha) or await first_branch(farm)
