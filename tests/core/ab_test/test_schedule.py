"""Boots of two variants alternate so that drift falls on both, whatever was lost on the way."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.ab_test import AbTestSide, Block, next_block
from buildbot_bench.core.ab_test.schedule import order

BASE, NEW = AbTestSide.BASE, AbTestSide.NEW


def blocks(wanted: int) -> list[Block]:
    done: Counter[AbTestSide] = Counter()
    asked: list[Block] = []
    while block := next_block(done, wanted):
        asked.append(block)
        done[block.side] += block.iterations
    return asked


def test_the_order_is_a_b_b_a():
    assert "".join("ab"[side is NEW] for side in order(5)) == "abbaabbaab"
    assert [(b.side, b.iterations) for b in blocks(3)] == [(BASE, 1), (NEW, 2), (BASE, 2), (NEW, 1)]


@given(st.integers(1, 60))
def test_each_side_is_booted_as_often_as_wanted(wanted):
    counts = Counter({BASE: 0, NEW: 0})
    for block in blocks(wanted):
        assert 1 <= block.iterations <= 2
        counts[block.side] += block.iterations
    assert counts == {BASE: wanted, NEW: wanted}


@given(st.integers(2, 60))
def test_an_even_drift_falls_on_both_sides_alike(wanted):
    at = {side: [i for i, s in enumerate(order(wanted)) if s is side] for side in AbTestSide}
    middle = {side: sum(places) / len(places) for side, places in at.items()}
    assert abs(middle[BASE] - middle[NEW]) <= 1


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 40))
def test_what_was_lost_is_made_up_for_and_no_more(wanted, base, new):
    done = Counter({BASE: base, NEW: new})
    while block := next_block(done, wanted):
        assert done[block.side] < wanted
        done[block.side] += block.iterations
    assert done == {BASE: max(base, wanted), NEW: max(new, wanted)}
