"""Samples as the judge uses them: one level for each image, and its fresh boots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from buildbot_bench.core.model import robust_level, spread_of_boots
from buildbot_bench.core.sample import Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class Boot:
    """One usable iteration: the logarithm of its value, and when it was measured.

    `screening` is the first boot of a position's first image, the one that raises suspicions.
    """

    log: float
    at_s: float
    screening: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """One build of one revision: its boots, their level and its variance (of logarithms)."""

    position: int
    image: int
    boots: tuple[Boot, ...]
    level: float
    variance: float


def images_of(samples: Sequence[Sample], sigma_run: float) -> tuple[Image, ...]:
    """The images that have a positive value, in the order of position and build.

    Samples of one image are put together.
    """
    merged: dict[tuple[int, int], list[Boot]] = {}
    screened: set[int] = set()
    for sample in sorted(samples, key=lambda sample: (sample.position, sample.image)):
        boots = merged.setdefault((sample.position, sample.image), [])
        for iteration in sample.iterations:
            if iteration.value is not None and 0 < iteration.value < math.inf:
                screening = sample.position not in screened
                screened.add(sample.position)
                log = math.log(iteration.value)
                boots.append(Boot(log=log, at_s=iteration.at_s, screening=screening))
    return tuple(
        _image(position, image, boots, sigma_run)
        for (position, image), boots in merged.items()
        if boots
    )


def _image(position: int, image: int, boots: Sequence[Boot], sigma_run: float) -> Image:
    logs = [boot.log for boot in boots]
    return Image(
        position=position,
        image=image,
        boots=tuple(boots),
        level=robust_level(logs, sigma_run),
        variance=spread_of_boots(logs, sigma_run) ** 2 / len(logs),
    )


def fresh_boots(image: Image, since_s: float) -> tuple[float, ...]:
    """The logarithms of the boots measured after `since_s`.

    Without clock times (all 0) those after the first of a position are taken for fresh.
    """
    if since_s == 0:
        return tuple(boot.log for boot in image.boots if not boot.screening)
    return tuple(boot.log for boot in image.boots if boot.at_s > since_s)


def screened_at_s(images: Sequence[Image]) -> float:
    """When the first of their boots was measured."""
    return min(boot.at_s for image in images for boot in image.boots)
