"""Stretches of a range that change little by little, and images far from their code's level."""

from itertools import pairwise
from math import log1p

import numpy as np

from buildbot_bench.core.search.far_images import far_images
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import OddImage, SearchPolicy, Slope, SlopePart
from buildbot_bench.core.search.own_levels import ODD, Levels, change_between, own_levels
from buildbot_bench.core.search.search_range import SearchRange


def slopes_between(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    found: tuple[int, ...],
    policy: SearchPolicy,
) -> tuple[Slope, ...]:
    """The stretches between found steps (gaps) and ends that change by a relevant effect.

    Both ends of a stretch must have boots enough to prove it: one that was booted once may be odd.
    """
    levels = own_levels(posterior)
    boots = np.bincount(posterior.readings.place_of_value)
    edges = [-1, *found, len(posterior.readings.kernels) - 1]
    slopes = []
    for before, after in pairwise(edges):
        first, last = before + 1, after
        change, error = change_between(levels, first, last)
        proved = min(boots[first], boots[last]) >= policy.values_that_prove
        if not proved or abs(change) - error < log1p(policy.relevant_effect):
            continue
        marks = _marks(levels, first, last, np.sign(change))
        slopes.append(
            Slope(
                whole=_part(search_range, posterior, levels, (first, last)),
                parts=tuple(_part(search_range, posterior, levels, two) for two in pairwise(marks)),
            )
        )
    return tuple(slopes)


def _marks(levels: Levels, first: int, last: int, sign: float) -> list[int]:
    """Measured kernels first..last between any two of which the level surely changed that way."""
    marks = [first]
    for place in range(first + 1, last + 1):
        change, error = change_between(levels, marks[-1], place)
        if sign * change > error:
            marks.append(place)
    # What comes after the last mark is too little to be told from nothing.
    return [*marks[:-1], last]


def odd_images(search_range: SearchRange, posterior: AveragedPosterior) -> tuple[OddImage, ...]:
    """The images that lie far from their code's level, by position."""
    readings, best = posterior.readings, posterior.models[0]
    level = posterior.level.mean
    share = far_images(readings, best.noise, level)
    away = readings.level_of_image - level[readings.place]
    return tuple(
        OddImage(
            position=int(search_range.ask[readings.kernels[readings.place[i]]]),
            image=int(readings.image[i]),
            effect=float(np.expm1(away[i])),
        )
        for i in np.flatnonzero(share > ODD)
    )


def _part(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    levels: Levels,
    between: tuple[int, int],
) -> SlopePart:
    change, error = change_between(levels, *between)
    effect, low, high = (float(np.expm1(x)) for x in (change, change - error, change + error))
    old, new = (int(posterior.readings.kernels[place]) for place in between)
    return SlopePart(old=search_range.last_with(old), new=new, effect=effect, low=low, high=high)
