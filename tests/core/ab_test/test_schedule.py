"""Boots of variants alternate so that drift falls on all alike, whatever was lost on the way."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.ab_test import MAX_VARIANTS, MIN_VARIANTS, Block, next_block
from buildbot_bench.core.ab_test.schedule import delays, order, passes

VARIANTS = st.integers(MIN_VARIANTS, MAX_VARIANTS)


def blocks(variants: int, wanted: int) -> list[Block]:
    done = [0] * variants
    asked: list[Block] = []
    while block := next_block(done, wanted):
        asked.append(block)
        done[block.variant] += block.iterations
    return asked


def letters(booted: tuple[int, ...]) -> str:
    return "".join("abcdefghijklmnop"[variant] for variant in booted)


def test_the_order_of_two_is_a_b_b_a():
    assert letters(order(2, 5)) == "abbaabbaab"
    assert [(b.variant, b.iterations) for b in blocks(2, 3)] == [(0, 1), (1, 2), (0, 2), (1, 1)]


def test_each_round_of_three_begins_with_another():
    assert letters(order(3, 6)) == "abccba" + "bcaacb" + "cabbac"


@given(VARIANTS, st.integers(1, 20))
def test_each_variant_is_booted_as_often_as_wanted(variants, wanted):
    counts = Counter(dict.fromkeys(range(variants), 0))
    for block in blocks(variants, wanted):
        assert 1 <= block.iterations <= 2
        counts[block.variant] += block.iterations
    assert set(counts.values()) == {wanted}
    assert len(counts) == variants


@given(VARIANTS, st.integers(1, 10), st.floats(-1e6, 1e6))
def test_an_even_drift_cancels_exactly_in_full_rounds(variants, rounds, drift):
    places: list[list[int]] = [[] for _ in range(variants)]
    for place, variant in enumerate(order(variants, 2 * rounds)):
        places[variant].append(place)
    for first in range(0, 2 * rounds, 2):
        assert len({sum(own[first : first + 2]) for own in places}) == 1
    base, *others = (sum(own) for own in places)
    assert all((other - base) * drift == 0 for other in others)
    assert delays(order(variants, 2 * rounds), variants) == (0.0,) * variants


@given(VARIANTS, st.integers(1, 20))
def test_half_a_round_leaves_less_than_a_pass_of_it(variants, wanted):
    late = delays(order(variants, wanted), variants)
    assert max(map(abs, late)) <= (variants - 1) / wanted + 1e-9


@given(VARIANTS)
def test_no_variant_follows_another_more_often_than_any(variants):
    rows = [row for row in passes(variants) for row in (row, tuple(reversed(row)))]
    followed = Counter(pair for row in rows for pair in pairwise(row))
    assert len(followed) == variants * (variants - 1)
    assert len(set(followed.values())) == 1


@given(st.integers(1, 30), st.lists(st.integers(0, 40), min_size=2, max_size=MAX_VARIANTS))
def test_what_was_lost_is_made_up_for_and_no_more(wanted, counts):
    done = list(counts)
    while block := next_block(done, wanted):
        assert done[block.variant] < wanted
        done[block.variant] += block.iterations
    assert done == [max(count, wanted) for count in counts]


@pytest.mark.parametrize(
    ("done", "wanted", "block"),
    [
        ([5, 5, 0], 5, Block(variant=2, iterations=2)),
        ([5, 5, 5], 5, None),
        ([5, 5, 5], 6, Block(variant=1, iterations=1)),
    ],
)
def test_a_comparison_that_is_extended_boots_what_is_missing_alone(done, wanted, block):
    assert next_block(done, wanted) == block


def test_one_that_came_late_is_known_by_how_much():
    assert delays([0, 1, 1, 0, 2, 2], 3) == (0.0, 0.0, 3.0)
    assert delays([1, 2], 3) == (0.0, 0.0, 0.0)
