"""Votes of one side's images on a step: images that show the step, images that deny it.

An image denies the step when it lies beyond the middle between the two levels by more than DENIES
of its standard errors, and shows it when it does not lie beyond the middle. A step needs a majority
on each side; one that fewer than IMAGES_THAT_SHOW show may be luck with layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from buildbot_bench.core.model import constants


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


def shows_step(image: float, *, level: float, other: float) -> bool:
    """Whether an image's level does not lie beyond the middle, on the `other` side's half."""
    return _beyond(image, level, other) <= 0


def _beyond(image: float, level: float, other: float) -> float:
    middle = 0.5 * (level + other)
    return math.copysign(1.0, middle - level) * (image - middle)


def image_votes(images: Iterable[tuple[float, float]], *, level: float, other: float) -> ImageVotes:
    """The votes of a side's images on the step between its `level` and that of the `other` side.

    `images` are their levels with standard errors, all in ln of the metric.
    """
    beyond = [(_beyond(image, level, other), error) for image, error in images]
    return ImageVotes(
        shown=sum(away <= 0 for away, _ in beyond),
        denied=sum(away > constants.DENIES * error for away, error in beyond),
    )
