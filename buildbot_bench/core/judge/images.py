"""Samples as the judge uses them, and whether a change is luck with an image's layout.

T. Mytkowicz et al., *Producing Wrong Data Without Doing Anything Obviously Wrong!*, ASPLOS 2009,
measured how much the order of linking does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from buildbot_bench.core.contrast.denial import image_votes
from buildbot_bench.core.figures import percent
from buildbot_bench.core.model.spread import robust_level, spread_of_boots
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
