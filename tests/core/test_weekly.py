"""Once a week at a time of day: the last such moment, whatever the clock says."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.triggers import WEEK_S, last_weekly


@given(
    now_s=st.floats(0, 4e9),
    weekday=st.integers(0, 6),
    minute=st.integers(0, 24 * 60 - 1),
)
def test_it_is_the_last_such_moment(now_s: float, weekday: int, minute: int) -> None:
    last_s = last_weekly(now_s, weekday=weekday, minute=minute)
    assert now_s - WEEK_S < last_s <= now_s
    if last_s >= 0:
        at = datetime.fromtimestamp(last_s, tz=UTC)
        assert (at.weekday(), at.hour * 60 + at.minute) == (weekday, minute)
