"""Whether boots fall into two modes, drawn anew at each boot; it knows nothing of builds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from buildbot_bench.core.noise.model import Bimodal

Floats = NDArray[np.float64]

_GAP = 10.0  # modes lie apart by this many times the spread within them
_SMALLEST = 0.005  # of the level: nearer modes are noise like any other
_MIN_BOOTS = 4  # of an image, two in each mode
_SHARE = 0.2  # of such images must show both modes
_FEWEST_IMAGES = 2  # with both modes; chosen: one alone may have had two odd boots


def modes(images: Sequence[Floats]) -> Bimodal | None:
    """Find two modes: in many images one gap dwarfs the spread on both of its sides."""
    candidates = [np.sort(logs) for logs in images if logs.size >= _MIN_BOOTS]
    parts = [sides for logs in candidates if (sides := _sides(logs)) is not None]
    if len(parts) < _FEWEST_IMAGES or len(parts) < _SHARE * len(candidates):
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
    apart = float(high.mean() - low.mean()) > max(_GAP * within, _SMALLEST)
    return (low, high) if apart else None
