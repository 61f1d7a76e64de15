"""The one rule of denial by images: which images of a side show a step, and which deny it.

An image denies the step when it lies beyond the middle between the two levels by more than DENIES
of its standard errors, and shows it when it does not lie beyond the middle. A step needs a majority
on each side; one that fewer than IMAGES_THAT_SHOW show may be luck with layout. While no majority
shows it, a further image is asked for, up to MOST_IMAGES of a side: then the step is denied.

An image lies far off its code's level with probability p, independent of others
(core.model.image_luck). Without a step, each image of a side that shows it is far; with it, each
image that denies it is. With m images for and d against the step, luck is

    E[p^(m - d)],    p ~ Beta(a, w - a)     =  a(a + 1)…(a + m - d - 1) / [w(w + 1)…(w + m - d - 1)]

times as likely as the step. Agreement of far images in size gives no credit: they may have one
cause. A step of BEYOND_LAYOUT or more is no luck.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from buildbot_bench.core.model import constants

MOST_IMAGES = 5
"""Images of a side; where these do not show a step, the layout of this code is a lottery."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageVotes:
    """How many images of one side show a step, and how many deny it."""

    shown: int
    denied: int

    @property
    def contradicted(self) -> bool:
        """Whether no majority of the images that say something shows the step."""
        return self.denied > 0 and self.denied >= self.shown

    @property
    def stands(self) -> bool:
        """Whether images enough show the step, and no majority denies it."""
        return self.shown >= constants.IMAGES_THAT_SHOW and not self.contradicted

    def luck(self, share: float, weight: float) -> float:
        """Return by how much luck is likelier than the step, by the images of this side alone.

        `share` of a testbed's images lie far off in the direction of the step, as `weight` images
        show.
        """
        a, majority = share * weight, max(self.shown - self.denied, 0)
        return math.prod((a + k) / (weight + k) for k in range(majority))


def is_beyond_layout(log: float) -> bool:
    """Return whether no luck with layout makes a difference of `log`, a logarithm."""
    return abs(log) >= math.log1p(constants.BEYOND_LAYOUT)


def shows_step(image: float, *, level: float, other: float) -> bool:
    """Whether an image's level does not lie beyond the middle, on the `other` side's half."""
    return _beyond(image, level, other) <= 0


def _beyond(image: float, level: float, other: float) -> float:
    middle = 0.5 * (level + other)
    return math.copysign(1.0, middle - level) * (image - middle)


def image_votes(images: Iterable[tuple[float, float]], *, level: float, other: float) -> ImageVotes:
    """The votes of images (levels, standard errors; in ln) on the step from `level` to `other`."""
    beyond = [(_beyond(image, level, other), error) for image, error in images]
    return ImageVotes(
        shown=sum(away <= 0 for away, _ in beyond),
        denied=sum(away > constants.DENIES * error for away, error in beyond),
    )
