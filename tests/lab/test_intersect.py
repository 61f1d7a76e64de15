"""What bursts have in common: the packets' work, by generated bursts with a clock among them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.lab.virtual.intersect import (
    LONGEST,
    MOST_ROUNDS,
    ROUNDS,
    TOLERANCE,
    Rounds,
    find_period,
)

PATH = dict.fromkeys(range(0x1000, 0x1000 + 300), 640)  # 3000 instructions for each of 64 packets
REFILL, CLOCK = 0x8000, 0x9000
EACH = LONGEST * ROUNDS


def work(size: int, at: int) -> Counter[int]:
    return Counter(range(at, at + size))


def bursts(number: int, period: int = 1, first: int = 0, refill: int = 400) -> list[Counter[int]]:
    """Alike, but that in one of each period a ring is refilled."""
    plain, full = Counter(PATH), Counter(PATH) + work(refill, REFILL)
    return [full if (first + n) % period == period - 1 else plain for n in range(number)]


def interrupted(sent: list[Counter[int]], when: dict[int, int]) -> list[Counter[int]]:
    """With the clock's work, so much of it, in some of them."""
    return [
        burst + work(when[n], CLOCK) + work(when[n] // 2, 0x1000) if n in when else burst
        for n, burst in enumerate(sent)
    ]


def count(sent: list[Counter[int]]) -> Rounds:
    return Rounds(find_period(sent), sent)


PERIODS = st.sampled_from([1 << n for n in range(7)])
# As many interrupts as FreeBSD has at kern.hz=10, no two of them at the same place of LONGEST.
CLOCKS = st.dictionaries(
    st.integers(0, LONGEST - 1), st.tuples(st.integers(0, ROUNDS - 1), st.integers(1, 600))
).map(
    lambda drawn: {
        place + LONGEST * round_number: size for place, (round_number, size) in drawn.items()
    }
)


@settings(max_examples=30, deadline=None)
@given(period=PERIODS, first=st.integers(0, LONGEST), clock=CLOCKS)
def test_a_clock_is_gone_and_a_ring_stays_whatever_its_period(period, first, clock):
    sent = bursts(EACH, period, first)
    counted = count(interrupted(sent, clock))
    assert counted.period % period == 0
    executed = counted.executed()
    assert executed.total() == pytest.approx(
        counted.period * (sum(PATH.values()) + 400 / period), rel=2 * TOLERANCE
    )
    assert sum(executed[REFILL + n] for n in range(400)) == 400 * counted.period // period


@settings(max_examples=30, deadline=None)
@given(period=PERIODS, first=st.integers(0, LONGEST))
def test_without_a_clock_the_period_is_the_least_one(period, first):
    counted = count(bursts(EACH, period, first))
    assert counted.period == period
    assert counted.is_settled


def test_an_interrupt_in_every_burst_but_few_is_gone():
    clock = {n: 900 for n in range(EACH) if n // 16 != 5}  # one of sixteen rounds is without it
    sent = interrupted(bursts(EACH, 16), clock)
    counted = Rounds(16, sent)
    assert counted.levels[-1] == sum(PATH.values()) + 400 / 16


def test_work_that_is_no_tolerance_is_no_reason_for_a_longer_period():
    slight = int(TOLERANCE * sum(PATH.values()))
    assert count(bursts(EACH, 16, refill=slight)).period == 1
    assert count(bursts(EACH, 16, refill=32 * slight)).period == 16


def test_rounds_go_on_until_two_change_nothing():
    plain = Counter(PATH)
    rounds = Rounds(1)
    for less in (9000, 5000, 900, 0):
        assert not rounds.is_settled
        rounds.add(plain + work(less, CLOCK))
    rounds.add(plain)
    assert not rounds.is_settled
    rounds.add(plain)
    assert rounds.is_settled
    assert rounds.executed() == plain


def test_rounds_end_where_each_takes_something_away():
    rounds = Rounds(2)
    for n in range(2 * MOST_ROUNDS):
        assert not rounds.is_settled
        rounds.add(Counter(PATH) + work(9000 - 100 * n, CLOCK))
    assert rounds.is_settled


def test_fewer_bursts_have_no_long_period():
    assert find_period(bursts(16 * ROUNDS, 16)) == 16
    assert find_period(bursts(16 * ROUNDS, 32)) < 32


def test_half_a_round_changes_no_level():
    rounds = Rounds(4, bursts(10))
    assert len(rounds.levels) == 2
