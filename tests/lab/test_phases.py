"""What bursts usually execute: the packets' work, by generated bursts with a clock among them."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.lab.virtual.bursts import (
    LONGEST,
    MOST_ROUNDS,
    ROUNDS,
    TOLERANCE,
    Burst,
    are_enough,
    disagreement,
    find_period,
    level,
    usual,
)

PATH = dict.fromkeys(range(0x1000, 0x1000 + 300), 640)  # 3000 instructions for each of 64 packets
TOTAL = sum(PATH.values())
REFILL, CLOCK = 0x8000, 0x9000
SENT = LONGEST * ROUNDS
SHORTEST = SENT // MOST_ROUNDS


def work(size: int, at: int) -> Counter[int]:
    return Counter(range(at, at + size))


def burst(executed: Counter[int], sleeps: int = 1) -> Burst:
    return Burst(executed=executed, sleeps=sleeps)


def bursts(number: int, period: int = 1, first: int = 0, refill: int = 400) -> list[Burst]:
    """Alike, but that in one of each period a ring is refilled."""
    plain, full = burst(Counter(PATH)), burst(Counter(PATH) + work(refill, REFILL))
    return [full if (first + n) % period == period - 1 else plain for n in range(number)]


def interrupted(sent: list[Burst], when: dict[int, int], sleeps: int = 1) -> list[Burst]:
    """With the clock's work, so much of it, in some of them, and some of their own elsewhere."""
    return [
        burst((one.executed + work(when[n], CLOCK)) - work(when[n] // 2, 0x1000), sleeps)
        if n in when
        else one
        for n, one in enumerate(sent)
    ]


PERIODS = st.sampled_from([1 << n for n in range(LONGEST.bit_length())])
# As many interrupts as FreeBSD has, in one burst of sixteen, and no two of them in one phase.
CLOCKS = st.dictionaries(
    st.integers(0, SHORTEST - 1),
    st.tuples(st.integers(0, MOST_ROUNDS - 1), st.integers(1, 4000)),
).map(lambda drawn: {place + SHORTEST * turn: size for place, (turn, size) in drawn.items()})


@settings(max_examples=30, deadline=None)
@given(period=PERIODS, first=st.integers(0, LONGEST), clock=CLOCKS)
def test_a_clock_is_gone_and_a_ring_stays_whatever_its_period(period, first, clock):
    sent = bursts(SENT, period, first)
    disturbed = interrupted(sent, clock)
    found = find_period(disturbed)
    assert found == max(period, SHORTEST)
    assert usual(disturbed, found) == usual(sent, found)
    assert level(sent, found) == TOTAL + 400 / period


@pytest.mark.parametrize("disturbed", [5, 6, 7])
def test_a_clock_in_less_than_half_of_the_bursts_is_gone(disturbed):
    sent = bursts(16 * 16, 16)  # 16 rounds, of which so many are disturbed
    clock = {n: 900 for n in range(len(sent)) if n // 16 % 2 == 0 and n // 32 < disturbed}
    assert usual(interrupted(sent, clock), 16) == usual(sent, 16)


@pytest.mark.parametrize("sleeps", [1, 2])
@pytest.mark.parametrize("disturbed", [8, 11])
def test_a_clock_is_gone_as_long_as_more_than_a_quarter_of_the_bursts_is_calm(disturbed, sleeps):
    sent = bursts(16 * 16, 16)
    clock = {n: 900 for n in range(len(sent)) if n // 16 < disturbed}
    assert usual(interrupted(sent, clock, sleeps), 16) == usual(sent, 16)


def test_the_few_bursts_whose_work_was_done_elsewhere_do_not_count():
    sent = bursts(16, 1)
    less = burst(sent[0].executed - work(200, 0x1000))
    assert usual([*sent[:13], less, less, less], 1) == usual(sent, 1)


def test_a_rare_burst_that_slept_less_than_all_others_does_not_count_alone():
    sent = bursts(16, 1)
    rare = [burst(sent[0].executed + work(900, CLOCK), sleeps=0), *sent[1:]]
    assert usual(rare, 1) == usual(sent, 1)


def test_work_that_matters_to_nobody_is_no_reason_for_a_longer_period():
    slight = int(TOLERANCE * TOTAL)
    assert find_period(bursts(SENT, 64, refill=slight)) == SHORTEST
    assert find_period(bursts(SENT, 64, refill=100 * slight)) == 64


def test_fewer_bursts_have_shorter_periods():
    assert find_period(bursts(16 * ROUNDS, 16)) == 16
    assert find_period(bursts(16 * ROUNDS)) == 4


def test_there_are_enough_rounds_when_half_of_them_agree_with_the_others():
    sent = bursts(4 * ROUNDS, 4)
    assert are_enough(sent, 4)
    later = [burst(one.executed + work(200, CLOCK)) for one in sent]
    torn = sent[:16] + later[16:]
    assert disagreement(torn, 4) == pytest.approx(200 / (TOTAL + 100), rel=1e-3)
    assert not are_enough(torn, 4)
    most = MOST_ROUNDS // ROUNDS // 2
    assert not are_enough(sent + later, 4)
    assert are_enough(sent * most + later * most, 4)
