"""Measurements as sorted logarithms, grouped by kernel and image."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search.model import Measurement
from buildbot_bench.core.search.search_range import FloatArray, IntArray, SearchRange

# A run that passed nothing has no logarithm; it is taken as this share of the median.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Readings:
    """N values of I images of m measured kernels, sorted by kernel, image and time.

    `kernels` (m,) are positions; `values` (N,) are ln(value / median); `first_of_image` (I,)
    indexes values, `image` (I,) is the image's number, `place` (I,) indexes kernels,
    `boots_of_image` (I,) is how many values each has, `level_of_image` (I,) the median of them;
    `place_of_value` (N,) indexes kernels.
    """

    kernels: IntArray
    values: FloatArray
    at_s: FloatArray
    first_of_image: IntArray
    image: IntArray
    place: IntArray
    boots_of_image: IntArray
    level_of_image: FloatArray
    place_of_value: IntArray

    def revalued(self, values: FloatArray) -> Readings:
        """The same boots with other values (N,)."""
        level = _medians(values, self.first_of_image, self.boots_of_image)
        return replace(self, values=values, level_of_image=level)

    def next_image(self, place: int) -> int:
        """The first number that no image of this kernel has."""
        return int(self.image[self.place == place].max(initial=-1)) + 1


def read(search_range: SearchRange, measurements: tuple[Measurement, ...]) -> Readings:
    """Sort and group what was measured."""
    for m in measurements:
        if not (np.isfinite(m.value) and m.value >= 0):
            raise UsageError(
                f"position {m.position} measured {m.value}: neither a number nor positive",
                hint="a failed run is not a measurement; leave it out",
            )
    rows = sorted(
        (int(search_range.kernel[m.position]), m.image, m.at_s, m.value) for m in measurements
    )
    kernel, image, at_s, value = (np.array(column) for column in zip(*rows, strict=True))
    new_image = np.ones(len(rows), dtype=bool)
    new_image[1:] = (np.diff(kernel) != 0) | (np.diff(image) != 0)
    first = np.flatnonzero(new_image)
    kernels, place = np.unique(kernel[first], return_inverse=True)
    positive = value[value > 0]
    unit = float(np.median(positive)) if len(positive) else 1.0
    values = np.log(np.maximum(value / unit, _LEAST_SHARE))
    boots = np.diff(np.append(first, len(values)))
    return Readings(
        kernels=kernels,
        values=values,
        at_s=at_s.astype(float),
        first_of_image=first,
        image=image[first],
        place=place,
        boots_of_image=boots,
        level_of_image=_medians(values, first, boots),
        place_of_value=np.repeat(place, boots),
    )


def _medians(values: FloatArray, first: IntArray, count: IntArray) -> FloatArray:
    """The median of each run of `count` (I,) values (N,) that begins at `first` (I,)."""
    run = np.repeat(np.arange(len(first)), count)
    ordered = values[np.lexsort((values, run))]
    return np.asarray(0.5 * (ordered[first + (count - 1) // 2] + ordered[first + count // 2]))
