"""The posterior of a difference: the same for mirrored sides, other units and other orders."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.contrast.denial import ImageVotes
from buildbot_bench.core.contrast.difference import Difference, SideBoots, difference
from buildbot_bench.core.contrast.needed import more_needed
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise

TOLD = Noise(sigma_run=0.005, sigma_build=0.002, df_run=8.0, df_build=8.0)
LEARNT = replace(TOLD, sigma_build=0.01, df_run=100.0, df_build=44.0, far_weight=80.0)
NOISES = st.sampled_from((TOLD, LEARNT, learn([]), replace(TOLD, sigma_build=0.0)))
SEEDS = st.integers(0, 2**32 - 1)
COUNTS = st.lists(st.integers(1, 4), min_size=1, max_size=3)


def drawn(seed: int, counts: list[int], level: float = 0.0) -> dict[int, list[float]]:
    """One side: for each image its boots."""
    rng = np.random.default_rng(seed)
    return {
        image: (1e6 * np.exp(level + rng.normal(0, 0.002) + rng.normal(0, 0.005, boots))).tolist()
        for image, boots in enumerate(counts)
    }


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, base=COUNTS, new=COUNTS, noise=NOISES, layout=st.booleans())
def test_sides_that_trade_places_differ_by_as_much_the_other_way(
    seed: int, base: list[int], new: list[int], noise: Noise, layout: bool
) -> None:
    sides = drawn(seed, base), drawn(seed + 1, new, -0.02)
    there = difference(*sides, noise, layout=layout)
    back = difference(*sides[::-1], noise, layout=layout)
    assert back.quantile(0.5) == pytest.approx(-there.quantile(0.5), abs=1e-9)
    assert back.sure_beyond(0.01, 1.0) == pytest.approx(there.sure_beyond(0.01, -1.0), abs=1e-9)
    assert back.votes == there.votes[::-1]
    assert back.of_images == pytest.approx(there.of_images)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, counts=COUNTS, noise=NOISES, unit=st.floats(1e-6, 1e6))
def test_neither_units_nor_the_order_of_boots_and_images_matter(
    seed: int, counts: list[int], noise: Noise, unit: float
) -> None:
    base, new = drawn(seed, counts), drawn(seed + 1, counts, 0.01)
    turned = [
        {9 - image: [unit * value for value in reversed(boots)] for image, boots in side.items()}
        for side in (base, new)
    ]
    found, other = difference(base, new, noise), difference(*turned, noise)
    assert other.quantile(0.3) == pytest.approx(found.quantile(0.3), abs=1e-9)
    assert other.probability_below(0.0) == pytest.approx(found.probability_below(0.0), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, counts=COUNTS, noise=NOISES, least=st.floats(0.0, 0.05))
def test_probabilities_fit_together(
    seed: int, counts: list[int], noise: Noise, least: float
) -> None:
    found = difference(drawn(seed, counts), drawn(seed + 1, counts, -0.01), noise)
    more, less = found.sure_beyond(least, 1.0), found.sure_beyond(least, -1.0)
    assert 0 <= more <= found.sure_beyond(0.0, 1.0) <= 1
    assert more + less <= 1 + 1e-9
    effect, low, high = found.interval(95.0)
    assert low < effect < high
    assert 0 < found.of_images < 1
    assert found.fewest_images == len(counts)
    assert all(side.shown + side.denied <= len(counts) for side in found.votes)


def test_where_layout_moves_nothing_images_make_no_variance() -> None:
    assert difference(drawn(1, [3, 3]), drawn(2, [3, 3]), TOLD, layout=False).of_images == 0


def test_a_second_image_that_agrees_makes_surer_than_as_many_boots_of_one() -> None:
    one, two = (
        difference(drawn(3, counts), drawn(4, counts, -0.02), LEARNT) for counts in ([6], [3, 3])
    )
    assert two.sure_beyond(0.0, -1.0) > one.sure_beyond(0.0, -1.0)


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, counts=COUNTS, images=st.booleans(), least=st.integers(1, 3))
def test_what_more_is_needed_can_be_made(
    seed: int, counts: list[int], images: bool, least: int
) -> None:
    found = difference(drawn(seed, counts), drawn(seed + 1, counts, -0.03), TOLD)
    needs = needed(found, images=images, least=least)
    assert needs is None or needs.boots >= max(1, needs.images)
    if not images:
        assert needs is None or needs.images == 0
    elif found.contradicted or len(counts) < least:
        assert needs is not None
        assert needs.images > 0


def needed(found: Difference, *, images: bool, least: int):
    return more_needed(
        found, TOLD, min_effect=0.02, sure_of_less=0.998, images=images, least_images=least
    )


def test_sides_that_do_not_differ_are_seldom_surely_different() -> None:
    """At .998 of either sign, 1 of 250 may be; build noise is what it is told as."""
    wrong = 0
    for seed in range(300):
        found = difference(drawn(2 * seed, [2, 1]), drawn(2 * seed + 1, [2, 1]), TOLD)
        wrong += not 0.002 <= found.probability_below(0.0) <= 0.998
    assert wrong <= 3


@pytest.mark.parametrize(("shown", "denied", "luck"), [(1, 1, 1.0), (0, 2, 1.0), (1, 0, 0.02)])
def test_luck_is_as_likely_as_the_step_without_a_majority(
    shown: int, denied: int, luck: float
) -> None:
    assert ImageVotes(shown=shown, denied=denied).luck(0.02, 30.0) == pytest.approx(luck)


@given(shown=st.integers(0, 8), denied=st.integers(0, 8), share=st.floats(0.001, 0.5))
def test_each_image_more_that_shows_it_makes_luck_less_likely(
    shown: int, denied: int, share: float
) -> None:
    there = ImageVotes(shown=shown, denied=denied).luck(share, 30.0)
    assert ImageVotes(shown=shown + 1, denied=denied).luck(share, 30.0) <= there <= 1


def test_boots_that_gave_nothing_are_passed_over() -> None:
    base: SideBoots = {0: [1e6, 0.0, 1.001e6], 1: [0.0]}
    found = difference(base, {0: [1e6, 1e6]}, TOLD)
    assert [len(side) for side in found.sides] == [1, 1]
    assert found.sides[0][0].boots == 2
