"""Takes over builds and runs of a campaign that differs from another only in how it builds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from buildbot_bench.core.wire import FailureKind
from buildbot_bench.local.campaign import Campaign
from buildbot_bench.local.recipe import recipe_digest
from buildbot_bench.local.repository import Repository
from buildbot_bench.local.store import StoredBuild, StoredCampaign

_HOW = ("steps", "fix")  # of a recipe: all else of it says what is kept


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """The campaign that ran last of those that differ in how they build, and what it has to keep.

    `builds` are those that did not fail, in building or running; `runs` counts what they measured.
    """

    campaign: StoredCampaign
    builds: tuple[StoredBuild, ...]
    runs: int


def earlier_than(campaign: Campaign, repository: Repository) -> Earlier | None:
    """Return what may be taken over; None where there is nothing that the campaign lacks."""
    store = repository.store
    own = _comparable(campaign.told)
    known = {
        (image.sha, image.ordinal)
        for image in store.images(campaign.recipe.digest)
        if image.reason is None
    }
    for other in store.campaigns():
        digest = recipe_digest(other.told["recipe"])
        if digest == campaign.recipe.digest or _comparable(other.told) != own:
            continue
        runs = store.iterations(other.id)
        valued = {one.image_id for one in runs if one.value is not None}
        failed = {one.image_id for one in runs if one.kind is FailureKind.UNTESTABLE} - valued
        builds = [
            image
            for image in store.images(digest)
            if image.reason is None and image.id not in failed
        ]
        if builds:
            new = tuple(one for one in builds if (one.sha, one.ordinal) not in known)
            ids = {one.id for one in new}
            count = sum(one.value is not None and one.image_id in ids for one in runs)
            return Earlier(campaign=other, builds=new, runs=count) if new else None
    return None


def take_over(earlier: Earlier, campaign_id: int, recipe: str, repository: Repository) -> None:
    """Have the builds and runs be the campaign's, too; what was built is moved, not copied."""
    for image in earlier.builds:
        kept = repository.room.archive(image)
        repository.store.adopt(image, recipe, earlier.campaign.id, campaign_id)
        if kept.is_file():
            kept.replace(repository.room.archive(replace(image, recipe=recipe)))


def _comparable(told: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two campaigns comparable but for how they build, as JSON would have it."""
    recipe = {name: value for name, value in told["recipe"].items() if name not in _HOW}
    plain: dict[str, Any] = json.loads(json.dumps({**told, "recipe": recipe}))
    return plain
