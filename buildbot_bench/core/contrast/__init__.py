"""The contrast of two sides: their difference, what denies it, and what more is needed."""

from buildbot_bench.core.contrast.denial import (
    MOST_IMAGES,
    ImageVotes,
    image_votes,
    is_beyond_layout,
    shows_step,
)
from buildbot_bench.core.contrast.difference import (
    Difference,
    Levels,
    SideBoots,
    difference,
    image_levels,
)
from buildbot_bench.core.contrast.needed import (
    MOST,
    MoreOfEach,
    boots_of_image,
    has_layout,
    images_needed,
    more_boots,
    more_needed,
    next_of_each,
    sure_at,
    told_apart_at,
)

__all__ = [
    "MOST",
    "MOST_IMAGES",
    "Difference",
    "ImageVotes",
    "Levels",
    "MoreOfEach",
    "SideBoots",
    "boots_of_image",
    "difference",
    "has_layout",
    "image_levels",
    "image_votes",
    "images_needed",
    "is_beyond_layout",
    "more_boots",
    "more_needed",
    "next_of_each",
    "shows_step",
    "sure_at",
    "told_apart_at",
]
