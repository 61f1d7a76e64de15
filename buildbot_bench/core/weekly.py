"""The last moment at which a weekly event was due."""

from __future__ import annotations

DAY_S = 24 * 3600
WEEK_S = 7 * DAY_S
_EPOCH_WEEKDAY = 3  # 1 January 1970 was a Thursday; Monday is 0


def last_weekly(now_s: float, *, weekday: int, minute: int) -> float:
    """The last moment up to `now_s` that is so many minutes into that day, in UTC.

    Times are seconds since the epoch; `weekday` is 0 for Monday to 6 for Sunday.
    """
    first_s = ((weekday - _EPOCH_WEEKDAY) % 7) * DAY_S + minute * 60
    return first_s + (now_s - first_s) // WEEK_S * WEEK_S
