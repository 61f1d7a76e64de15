"""The detection of two modes between which boots of one image alternate at random.

The model is e(boot) ~ (1 - q)·N(0, s²) + q·N(delta, s²), with delta far beyond s. An image shows
two modes when the largest gap between its sorted boots leaves two boots or more on each side, and

    mean(high) - mean(low) > max(MODES_APART · s, LEAST_MODES),     s² the sides' pooled variance

(the cut of least variance: N. Otsu, IEEE Trans. Systems, Man and Cybernetics 9, 1979). A testbed
has two modes when IMAGES_WITH_MODES of its images with enough boots show them; delta is the median
of the gaps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from buildbot_bench.core.model import constants
from buildbot_bench.core.model.noise import Bimodal

Floats = NDArray[np.float64]

_MIN_BOOTS = 4  # of an image, two in each mode
_FEWEST_IMAGES = 2  # with both modes; chosen: one alone may have had two odd boots


def modes(images: Sequence[Floats]) -> Bimodal | None:
    """Find two modes: in many images one gap dwarfs the spread on both of its sides."""
    candidates = [np.sort(logs) for logs in images if logs.size >= _MIN_BOOTS]
    parts = [sides for logs in candidates if (sides := _sides(logs)) is not None]
    if len(parts) < _FEWEST_IMAGES or len(parts) < constants.IMAGES_WITH_MODES * len(candidates):
        return None
    gaps = [float(high.mean() - low.mean()) for low, high in parts]
    lows, highs = (sum(side.size for side in sides) for sides in zip(*parts, strict=True))
    return Bimodal(separation=math.expm1(float(np.median(gaps))), low_share=lows / (lows + highs))


def _sides(ordered: Floats) -> tuple[Floats, Floats] | None:
    """The two sides of the largest gap, if both have two boots or more and lie far apart."""
    cut = int(np.argmax(np.diff(ordered))) + 1
    low, high = ordered[:cut], ordered[cut:]
    if min(low.size, high.size) < _MIN_BOOTS // 2:
        return None
    within = math.sqrt((low.var() * low.size + high.var() * high.size) / (ordered.size - 2))
    apart = float(high.mean() - low.mean()) > max(
        constants.MODES_APART * within, constants.LEAST_MODES
    )
    return (low, high) if apart else None
