"""Votes of images on a change, and the odds of luck with images against the change.

An image lies far off its code's level with probability p, independent of others
(core.model.image_luck). Without a change, each image of a side that shows it is far; with it, each
image that denies it is. With m images for and d against the change, luck is

    E[p^(m - d)],    p ~ Beta(a, w - a)     =  a(a + 1)…(a + m - d - 1) / [w(w + 1)…(w + m - d - 1)]

times as likely as the change. Agreement of far images in size gives no credit: they may have one
cause. A change of BEYOND_LAYOUT or more is no luck.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from buildbot_bench.core.judge.images import Image
from buildbot_bench.core.model import Noise, constants


@dataclass(frozen=True, kw_only=True, slots=True)
class Votes:
    """How many images of one side of a change show it, and how many deny it, at `positions`.

    `share` of the testbed's images lie far off in the direction of the change, as `weight` images
    show.
    """

    show: int
    deny: int
    positions: int
    share: float
    weight: float

    @property
    def luck(self) -> float:
        """By how much luck is likelier than the change, by this side's images alone."""
        return self.luck_of(self.show - self.deny)

    def luck_of(self, majority: int) -> float:
        """The same of so many images more that show it than deny it."""
        a, w = self.share * self.weight, self.weight
        return math.prod((a + k) / (w + k) for k in range(max(majority, 0)))


def votes(
    old: Sequence[Image], new: Sequence[Image], middle: float, noise: Noise, *, falls: bool
) -> tuple[Votes, Votes]:
    """The votes of the old and the new side; levels on the other side of `middle` deny."""
    below = noise.far_below, noise.far_share - noise.far_below
    new_share, old_share = below if falls else below[::-1]
    return (
        _count(old, middle, old_share, noise, above=falls),
        _count(new, middle, new_share, noise, above=not falls),
    )


def is_beyond_luck(difference: float) -> bool:
    """Whether no image is that far off by luck."""
    return abs(difference) >= constants.BEYOND_LAYOUT


def _count(
    images: Sequence[Image], middle: float, share: float, noise: Noise, *, above: bool
) -> Votes:
    show = sum((image.level > middle) is above for image in images)
    return Votes(
        show=show,
        deny=len(images) - show,
        positions=len({image.position for image in images}),
        share=share,
        weight=noise.far_weight,
    )
