"""The branches that a farm watches, and the branch that a commit, image or judgement is of."""

from __future__ import annotations

from buildbot_bench.core.branches import (
    MOST_BRANCHES,
    branch_in,
    name_in_repository,
    repository_of,
)
from buildbot_bench.plugin.db.finding_rows import JudgementRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm

UNWATCHED = ""
"""The branch, within its repository, of a commit that no watched branch leads to."""


async def known_branches(farm: Farm) -> tuple[str, ...]:
    """All branches that were ever watched, those that are watched now first, in their order."""
    watched = await watched_branches(farm)
    seen = [row.name for row in await farm.store.branches()]
    return (*watched, *(name for name in seen if name not in watched))


async def watched_branches(farm: Farm) -> tuple[str, ...]:
    """The branches that were seen and are watched, repository by repository.

    Of a repository of which none was seen yet, those that bench.yml names.
    """
    seen = [row.name for row in await farm.store.branches()]
    return tuple(
        branch
        for one in farm.workflow.watches
        for branch in one.taken(seen)[:MOST_BRANCHES] or one.named
    )


async def first_branch(farm: Farm, repository: str = "") -> str:
    """The branch of a repository that is meant where none is named: the first watched one."""
    watched = await watched_branches(farm)
    own = (branch for branch in watched if repository_of(branch) == repository)
    return next(own, branch_in(repository, UNWATCHED))


async def branch_to_name(farm: Farm, branch: str) -> str:
    """What readers see of a branch: its name, or, where it is the only one, nothing."""
    return branch if len(await watched_branches(farm)) > 1 else ""


async def branch_of_commit(farm: Farm, sha: str, repository: str = "") -> str:
    """The branch of a repository that has a commit; of several the one that was watched first."""
    came: str | None = await farm.store.branch_of(sha, repository)
    if came is not None:
        return came
    carriers = await farm.git(farm.history.carriers, sha, repository)
    seen = [row.name for row in await farm.store.branches() if row.name in carriers]
    return next(iter((*seen, *carriers)), branch_in(repository, UNWATCHED))


def is_watched(branch: str | None) -> bool:
    """Whether it is the name of a branch, and not that of those without one."""
    return bool(branch) and name_in_repository(str(branch)) != UNWATCHED


async def branch_of_image(farm: Farm, image: ImageRow) -> str:
    """The branch on which what an image measures is judged."""
    if image.branch and is_watched(image.branch):
        return image.branch
    came: str | None = await farm.store.branch_of(image.sha, image.repository)
    return came or await first_branch(farm, image.repository)


async def branch_of_judgement(farm: Farm, row: JudgementRow) -> str:
    """The branch on which a judgement was made."""
    if row.branch and is_watched(row.branch):
        return row.branch
    came: str | None = await farm.store.branch_of(row.new_sha, row.repository)
    return came or await first_branch(farm, row.repository)
