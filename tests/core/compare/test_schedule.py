"""Boots of variants alternate so that drift falls on all alike, whatever was lost on the way."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.compare.schedule import (
    Block,
    ImageBoots,
    delays,
    images_in_turn,
    next_block,
    order,
    passes,
)
from buildbot_bench.core.compare.variants import MIN_VARIANTS
from buildbot_bench.core.limits import MOST_VARIANTS

VARIANTS = st.integers(MIN_VARIANTS, MOST_VARIANTS)


def blocks(wanted: Sequence[ImageBoots], lost: Sequence[ImageBoots] = ()) -> list[Block]:
    """What is booted until nothing is missing, where `lost` is there already."""
    done = [Counter(own) for own in lost or [{}] * len(wanted)]
    asked: list[Block] = []
    while block := next_block(done, wanted):
        asked.append(block)
        done[block.variant][block.image] += block.iterations
    return asked


def booted(asked: Sequence[Block]) -> list[tuple[int, int]]:
    return [(block.variant, block.image) for block in asked for _ in range(block.iterations)]


def letters(booted: tuple[int, ...]) -> str:
    return "".join("abcdefghijklmnop"[variant] for variant in booted)


def test_the_order_of_two_is_a_b_b_a():
    assert letters(order(2, 5)) == "abbaabbaab"
    assert [(b.variant, b.iterations) for b in blocks([{0: 3}] * 2)] == [
        (0, 1),
        (1, 2),
        (0, 2),
        (1, 1),
    ]


def test_each_round_of_three_begins_with_another():
    assert letters(order(3, 6)) == "abccba" + "bcaacb" + "cabbac"


@given(VARIANTS, st.integers(1, 20))
def test_each_variant_is_booted_as_often_as_wanted(variants, wanted):
    counts = Counter(dict.fromkeys(range(variants), 0))
    for block in blocks([{0: wanted}] * variants):
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


IMAGES = st.dictionaries(st.integers(1, 5), st.integers(1, 5), max_size=4)


@st.composite
def plans(draw) -> list[ImageBoots]:
    """Two to thirty-two variants, as many boots of each one's first image, and any further ones."""
    variants, first = draw(VARIANTS), draw(st.integers(1, 8))
    return [{0: first} | draw(IMAGES) for _ in range(variants)]


@given(plans(), st.data())
def test_what_was_lost_is_made_up_for_and_no_more(wanted, data):
    image = st.integers(0, 5)
    lost = [data.draw(st.dictionaries(image, st.integers(0, 9))) for _ in wanted]
    done = [Counter(own) for own in lost]
    for variant, image in booted(blocks(wanted, lost)):
        assert done[variant][image] < wanted[variant][image]
        done[variant][image] += 1
    for own, before, asked in zip(done, lost, wanted, strict=True):
        assert all(own[image] == max(before.get(image, 0), n) for image, n in asked.items())


@given(VARIANTS, st.integers(1, 6), IMAGES)
def test_variants_with_the_same_images_are_in_the_order_of_one_image(variants, first, further):
    own = {0: first} | further
    asked = [variant for variant, _ in booted(blocks([own] * variants))]
    assert tuple(asked) == order(variants, sum(own.values()))


@given(plans())
def test_whatever_images_there_are_no_variant_gets_ahead_of_another_that_lacks_boots(wanted):
    counts: Counter[int] = Counter()
    for variant, _ in booted(blocks(wanted)):
        counts[variant] += 1
        lacking = [v for v, own in enumerate(wanted) if counts[v] < sum(own.values())]
        assert all(counts[variant] - counts[other] <= 2 for other in lacking)


@given(st.integers(1, 5), IMAGES)
def test_further_images_begin_after_the_first_and_alternate_there_and_back(first, further):
    turns = list(images_in_turn({0: first} | further))
    assert turns[:first] == [0] * first
    assert Counter(turns) == Counter({0: first} | further)
    for before in range(first, len(turns)):
        counts = Counter(turns[first:before])
        lacking = [image for image, boots in further.items() if counts[image] < boots]
        assert counts[turns[before]] == min(counts[image] for image in lacking)


def test_the_images_of_two_variants():
    asked = booted(blocks([{0: 1, 1: 2, 2: 2}] * 2))
    told = " ".join(f"{'ab'[variant]}{image}" for variant, image in asked)
    assert told == "a0 b0 b1 a1 a2 b2 b2 a2 a1 b1"


@pytest.mark.parametrize(
    ("done", "wanted", "block"),
    [
        ([5, 5, 0], 5, Block(variant=2, image=0, iterations=2)),
        ([5, 5, 5], 5, None),
        ([5, 5, 5], 6, Block(variant=1, image=0, iterations=1)),
    ],
)
def test_a_comparison_that_is_extended_boots_what_is_missing_alone(done, wanted, block):
    assert next_block([{0: boots} for boots in done], [{0: wanted}] * len(done)) == block


def test_one_that_came_late_is_known_by_how_much():
    assert delays([0, 1, 1, 0, 2, 2], 3) == (0.0, 0.0, 3.0)
    assert delays([1, 2], 3) == (0.0, 0.0, 0.0)
