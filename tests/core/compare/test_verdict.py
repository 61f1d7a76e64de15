"""Better or worse means beyond luck with layout; what Student's t says stands beside it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from buildbot_bench.core.compare.verdict import (
    Better,
    ComparedSides,
    NoDifference,
    Undecided,
    VerdictTerms,
    WithinLayoutLuck,
    Worse,
    compare_sides,
)
from buildbot_bench.core.contrast.needed import MoreOfEach
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise, counted
from tests.fakes.compared import LEARNT as APU2

LEARNT = replace(APU2, sigma_run=0.009)
TERMS = VerdictTerms(min_effect=0.02)
ONE_IMAGE = replace(TERMS, images=False)
SCATTER = (-0.006, 0.0, 0.006)  # boots of an image, in ln
SEEDS = st.integers(0, 2**32)
EFFECTS = st.floats(-0.2, 0.2)


def side(*levels: float, scatter: tuple[float, ...] = SCATTER) -> dict[int, list[float]]:
    """Images at some levels (ln), with three boots each that scatter little."""
    return {
        image: [500_000 * math.exp(level + off) for off in scatter]
        for image, level in enumerate(levels)
    }


def drawn(seed: int, effect: float) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Two sides of one to four images each, one to four boots of an image."""
    rng = np.random.default_rng(seed)
    sides: list[dict[int, list[float]]] = []
    for number in range(2):
        level = number * math.log1p(effect)
        sides.append(
            {
                image: np.exp(
                    13 + level + rng.normal(0, 0.016) + rng.normal(0, 0.009, rng.integers(1, 5))
                ).tolist()
                for image in range(rng.integers(1, 5))
            }
        )
    return sides[0], sides[1]


def test_two_images_of_each_side_show_that_nine_percent_is_worse() -> None:
    found = compare_sides(side(0.0, 0.01), side(-0.1, -0.09), LEARNT, TERMS)
    assert found.verdict == Worse()
    assert found.separated
    assert found.effect == pytest.approx(-0.095, abs=0.005)
    assert found.low < found.effect < found.high < 0
    assert found.student is not None
    assert found.student.significant


def test_one_image_of_each_without_a_history_says_students_sign_and_decides_nothing() -> None:
    base, better = {0: [100.0, 100.4, 99.6]}, {0: [106.0, 106.6, 105.4]}
    more = compare_sides(base, better, None, ONE_IMAGE)
    assert more.verdict == Undecided(needs=None, student="better")
    assert (more.separated, more.chance) == (False, None)
    less_is_better = replace(ONE_IMAGE, higher_is_better=False)
    assert compare_sides(base, better, None, less_is_better).verdict.student == "worse"
    for alike in (0.0, 0.01):
        found = compare_sides(side(0.0), side(alike), None, ONE_IMAGE)
        assert found.verdict == Undecided(needs=None, student="no sign")


@pytest.mark.parametrize("kind", ["runs", "images", "speeds"])
def test_seven_alike_with_one_image_each_and_no_history_get_no_verdict(kind: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng([20261128, seed])
        luck = {
            "runs": np.zeros(7),
            "images": rng.normal(0, 0.016, 7),
            "speeds": np.where(rng.random(7) < 0.5, -0.05, 0.0),
        }[kind]
        base, *others = ({0: np.exp(13 + x + rng.normal(0, 0.008, 5)).tolist()} for x in luck)
        terms = replace(ONE_IMAGE, tests=6)
        assert {compare_sides(base, it, None, terms).verdict.kind for it in others} == {"undecided"}


def test_more_variants_ask_for_more_certainty() -> None:
    same = replace(TERMS, layout=False)
    base, new = side(0.0), side(-0.028)
    alone, of_fifteen = (
        compare_sides(base, new, LEARNT, replace(same, tests=tests)) for tests in (1, 15)
    )
    assert alone.chance == of_fifteen.chance
    assert alone.chance <= 0.01 < 15 * of_fifteen.chance
    assert (alone.verdict, type(of_fifteen.verdict)) == (Worse(), Undecided)


def test_an_early_look_counts_for_less() -> None:
    same = replace(TERMS, layout=False, images=False)
    sides = side(0.0), side(-0.025)
    on_the_way, at_once = (
        compare_sides(*sides, LEARNT, replace(same, boots=boots)).chance for boots in (True, False)
    )
    assert on_the_way == pytest.approx(2 * 40 / 3 * at_once)


@given(seed=SEEDS, effect=EFFECTS)
@settings(max_examples=25)
def test_of_a_recording_no_further_boots_are_asked_for(seed: int, effect: float) -> None:
    base, new = drawn(seed, effect)
    recorded = replace(ONE_IMAGE, boots=False)
    for noise in (None, LEARNT):
        verdict = compare_sides(base, new, noise, recorded).verdict
        more = compare_sides(base, new, noise, ONE_IMAGE).verdict
        assert type(verdict) is type(more)
        if isinstance(verdict, Undecided | WithinLayoutLuck) and sum(map(len, new.values())) > 2:
            assert verdict.needs is None or sum(map(len, base.values())) <= 2


def test_where_less_is_better_less_is_better() -> None:
    terms = replace(TERMS, higher_is_better=False)
    assert compare_sides(side(0.0, 0.01), side(-0.1, -0.09), LEARNT, terms).verdict == Better()


def test_one_image_of_each_side_is_not_believed_below_ten_percent() -> None:
    found = compare_sides(side(0.0), side(-0.09), LEARNT, TERMS)
    assert isinstance(found.verdict, Undecided)
    assert found.verdict.needs is not None
    assert found.verdict.needs.images >= 1
    assert compare_sides(side(0.0), side(-0.2), LEARNT, TERMS).verdict == Worse()


def test_one_image_is_not_believed_however_calm_the_history_was() -> None:
    calm = replace(LEARNT, sigma_build=0.001, far_share=1e-6, far_below=0.0, far_weight=1e4)
    alone = compare_sides(side(0.0), side(-0.05), calm, TERMS)
    assert alone.verdict == Undecided(needs=MoreOfEach(boots=5, images=1))
    assert compare_sides(side(0.0, 0.0), side(-0.05, -0.05), calm, TERMS).verdict == Worse()


def test_what_layout_explains_is_luck_whatever_student_says() -> None:
    found = compare_sides(side(0.0, 0.01), side(-0.035, -0.02), LEARNT, TERMS)
    assert found.student is not None
    assert found.student.p_value < 0.01
    assert isinstance(found.verdict, WithinLayoutLuck)
    assert found.verdict.needs is not None
    assert found.verdict.needs.images > 0


def test_sides_alike_on_many_images_do_not_differ() -> None:
    levels = np.linspace(-0.02, 0.02, 9).tolist()
    found = compare_sides(side(*levels), side(*levels), LEARNT, TERMS)
    assert found.verdict == NoDifference(least=0.02)
    assert -0.02 < found.low < found.high < 0.02
    few = compare_sides(side(0.0, 0.01), side(0.0, 0.01), LEARNT, TERMS)
    assert isinstance(few.verdict, Undecided)


def test_an_image_that_contradicts_is_heeded_until_others_outvote_it() -> None:
    base = side(0.0, 0.005)
    disputed = compare_sides(base, side(-0.09, 0.002), LEARNT, TERMS)
    assert not isinstance(disputed.verdict, Worse | Better)
    outvoted = compare_sides(base, side(-0.09, 0.002, -0.085, -0.092), LEARNT, TERMS)
    assert outvoted.verdict == Worse()


def test_one_image_of_each_is_believed_where_no_layout_explains_it() -> None:
    found = compare_sides(side(0.0), side(0.5), None, ONE_IMAGE)
    assert (found.verdict, found.separated) == (Better(), True)
    assert not compare_sides(side(0.0), side(-0.11), None, ONE_IMAGE).separated


def test_a_history_tells_that_recorded_images_differ_by_luck() -> None:
    found = compare_sides(side(0.0), side(-0.03), LEARNT, ONE_IMAGE)
    assert found.verdict == WithinLayoutLuck(needs=None)
    rough = replace(LEARNT, sigma_build=0.045)
    assert isinstance(
        compare_sides(side(0.0), side(-0.12), rough, ONE_IMAGE).verdict, WithinLayoutLuck
    )


def test_a_short_history_does_not_tell_how_far_layout_moves() -> None:
    short = replace(LEARNT, df_build=9.0)
    for noise in (short, learn([])):
        found = compare_sides(side(0.0), side(-0.03), noise, ONE_IMAGE)
        assert found.verdict == Undecided(needs=None, student="worse")


def test_where_both_sides_boot_the_same_images_boots_alone_tell() -> None:
    same = replace(TERMS, layout=False)
    found = compare_sides(side(0.0), side(-0.05), LEARNT, same)
    assert found.verdict == Worse()
    assert found.separated
    unclear = compare_sides(side(0.0), side(-0.013), LEARNT, same)
    assert isinstance(unclear.verdict, Undecided)
    assert unclear.verdict.needs is not None
    assert unclear.verdict.needs.boots > 0
    assert unclear.verdict.needs.images == 0


def test_what_is_counted_depends_on_no_layout() -> None:
    prior = counted()
    exact = Noise(
        sigma_run=prior.sigma_run,
        sigma_build=prior.sigma_build,
        df_run=1e12,
        df_build=1e12,
        far_share=0.0,
        far_below=0.0,
        far_weight=1e12,
    )
    little = {0: [900.0, 900.1, 900.0]}
    more = {0: [903.0, 903.1, 903.0]}
    terms = VerdictTerms(min_effect=0.001, higher_is_better=False)
    assert compare_sides(little, more, exact, terms).verdict == Worse()
    assert compare_sides(little, little, exact, terms).verdict == NoDifference(least=0.001)


def test_too_few_boots_are_said_in_boots() -> None:
    found = compare_sides({0: [1.0, 2.0]}, {}, LEARNT, TERMS)
    assert isinstance(found.verdict, Undecided)
    assert found.verdict.needs is not None
    assert found.verdict.needs.boots == 3
    assert (found.effect, found.student) == (None, None)
    nothing_passes = compare_sides({0: [0.0] * 3}, {0: [5.0] * 3}, LEARNT, TERMS)
    assert isinstance(nothing_passes.verdict, Undecided)


def test_a_confidence_without_a_table_is_refused() -> None:
    with pytest.raises(UsageError, match="97"):
        compare_sides(side(0.0), side(0.0), LEARNT, replace(TERMS, confidence=97.0))


def test_a_boot_that_went_wrong_does_not_make_a_side_worse() -> None:
    spoilt = side(0.0, 0.01)
    spoilt[1][2] *= 0.6
    found = compare_sides(side(0.0, 0.01), spoilt, LEARNT, TERMS)
    assert not isinstance(found.verdict, Worse | Better)


@settings(max_examples=40)
@given(seed=SEEDS, effect=EFFECTS, history=st.booleans(), images=st.booleans())
def test_worse_and_better_trade_places_with_the_sides(
    seed: int, effect: float, history: bool, images: bool
) -> None:
    base, new = drawn(seed, effect)
    noise, terms = LEARNT if history else None, replace(TERMS, images=images)
    there = compare_sides(base, new, noise, terms)
    back = compare_sides(new, base, noise, terms)
    other = {"worse": "better", "better": "worse"}
    assert back.verdict.kind == other.get(there.verdict.kind, there.verdict.kind)
    if there.effect is not None and (history or images):  # Student's is a part of the base
        assert getattr(there.verdict, "needs", None) == getattr(back.verdict, "needs", None)
        assert math.log1p(there.effect) == pytest.approx(-math.log1p(back.effect), abs=1e-9)
        assert math.log1p(there.low) == pytest.approx(-math.log1p(back.high), abs=1e-9)


@settings(max_examples=40)
@given(seed=SEEDS, effect=EFFECTS, scale=st.floats(1e-6, 1e9), history=st.booleans())
def test_the_unit_does_not_matter(seed: int, effect: float, scale: float, history: bool) -> None:
    sides = drawn(seed, effect)
    scaled = [{i: [v * scale for v in boots] for i, boots in one.items()} for one in sides]
    noise = LEARNT if history else None
    as_it_is, other = compare_sides(*sides, noise, TERMS), compare_sides(*scaled, noise, TERMS)
    assert other.verdict == as_it_is.verdict
    assert other.effect == pytest.approx(as_it_is.effect, abs=1e-9)
    assert other.high == pytest.approx(as_it_is.high, abs=1e-9)


@settings(max_examples=40)
@given(
    effect=st.floats(0.03, 0.6).flatmap(lambda size: st.sampled_from((-size, size))),
    others=st.integers(1, 4),
    of_base=st.booleans(),
    images=st.integers(2, 4),
    history=st.booleans(),
)
def test_nothing_is_called_changed_that_all_other_images_of_a_side_deny(
    effect: float, others: int, of_base: bool, images: int, history: bool
) -> None:
    odd = side(effect, *([0.0] * others))
    calm = side(*([0.0] * images))
    sides = (odd, calm) if of_base else (calm, odd)
    found = compare_sides(*sides, LEARNT if history else None, TERMS)
    assert not isinstance(found.verdict, Worse | Better)


@settings(max_examples=40)
@given(seed=SEEDS, smaller=st.floats(0.025, 0.2), larger=st.floats(0.025, 0.2))
def test_a_larger_effect_at_the_same_noise_needs_no_more_boots(
    seed: int, smaller: float, larger: float
) -> None:
    assume(smaller < larger)
    base, _ = drawn(seed, 0.0)
    found = [
        compare_sides(base, {i: [v * (1 + d) for v in boots] for i, boots in base.items()}, *rest)
        for d, rest in ((smaller, (LEARNT, TERMS)), (larger, (LEARNT, TERMS)))
    ]
    assert _boots(found[1]) <= _boots(found[0])


def _boots(found: ComparedSides) -> int:
    needs = getattr(found.verdict, "needs", None)
    return needs.boots if needs else 0
