"""The decision whether a change is luck with the layout of an image.

T. Mytkowicz et al., *Producing Wrong Data Without Doing Anything Obviously Wrong!*, ASPLOS 2009,
measured how much the order of linking does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from buildbot_bench.core.contrast import image_votes
from buildbot_bench.core.figures import percent
from buildbot_bench.core.judge.images import Image

_FEWEST = 2  # further images; one of them may have a luck of its own
_SURE = 2.0  # standard errors


def is_layout(new: Sequence[Image], old_level: float) -> bool:
    """Whether as many images of a revision deny what its first one shows as show it.

    `old_level` is the level (of logarithms) before the revision.
    """
    images = ((image.level, math.sqrt(image.variance)) for image in new)
    return image_votes(images, level=new[0].level, other=old_level).contradicted


def is_sure_layout(new: Sequence[Image], old_level: float, sigma_build: float) -> bool:
    """Whether still further images, linked in other orders, would hardly show that half."""
    first, *further = (image.level - old_level for image in new)
    variance = sum(sigma_build**2 + image.variance for image in new[1:]) / max(len(further), 1) ** 2
    highest = math.copysign(1.0, first) * fmean(further or [first]) + _SURE * math.sqrt(variance)
    return len(further) >= _FEWEST and highest < abs(first) / 2


def in_words(new: Sequence[Image], old_level: float) -> str:
    """A sentence for a reader, when it is layout."""
    first, *further = (math.expm1(image.level - old_level) for image in new)
    others = ", ".join(map(percent, further))
    return (
        f"{percent(first)} is the layout of one image, not the code. "
        f"In another link order it is {others}"
    )
