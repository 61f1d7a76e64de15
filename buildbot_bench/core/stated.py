"""The rounding of a stated probability, the same in mails, pages, JSON and commands."""

from __future__ import annotations

import math

MOST_SURE = 99  # percent: no model of a lab earns more; 100 is never claimed
_ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996


def stated_percent(probability: float) -> int:
    """A probability as it is stated: in whole percent, rounded down, and never above 99."""
    return min(MOST_SURE, math.floor(100 * probability + _ROUNDING))
