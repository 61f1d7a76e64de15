"""What an answer stands on: images of both sides, boots enough, slopes, untestable stretches."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_lab import COSTS, Lab, search

from buildbot_bench.core.search import Answer, Evidence, Measure, Measurement, SearchPolicy, plan

TOLD = SearchPolicy(sigma_run=0.005, sigma_build=0.002, claimed=-0.04, max_measurements=400)
RNG_SEEDS = st.integers(0, 10_000)


def boots(position: int, image: int, level: float, count: int, rng) -> list[Measurement]:
    return [
        Measurement(position=position, image=image, value=float(np.exp(level + noise)))
        for noise in rng.normal(0, 0.005, count)
    ]


def sure(answer: Answer) -> list[tuple[int, int]]:
    return [(s.old, s.new) for s in answer.steps if s.separated and s.probability >= 0.99]


@settings(max_examples=60, deadline=None)
@given(
    seed=RNG_SEEDS,
    first=st.integers(1, 8),
    others=st.integers(1, 4),
    side=st.sampled_from([0, 1]),
    effect=st.floats(0.03, 0.09),
)
def test_no_step_is_stated_that_all_other_images_of_a_side_deny(seed, first, others, side, effect):
    rng = np.random.default_rng(seed)
    low, high = -effect, 0.0
    levels = {0: high, 1: low}
    taken = [b for end in (0, 1) for b in boots(end, 0, levels[end], first, rng)]
    for image in range(1, others + 1):
        taken += boots(side, image, levels[1 - side], 2, rng)
        taken += boots(1 - side, image, levels[1 - side], 2, rng)
    request = plan(1, Evidence(measurements=tuple(taken)), COSTS, TOLD)
    assert isinstance(request, Measure) or sure(request) == []


def test_a_second_image_that_contradicts_calls_for_a_third_which_decides():
    rng = np.random.default_rng(5)
    old = [b for image in (0, 1, 2) for b in boots(0, image, 0.0, 2, rng)]
    disputed = boots(1, 0, -0.04, 3, rng) + boots(1, 1, 0.0, 2, rng)
    request = plan(1, Evidence(measurements=(*old, *disputed)), COSTS, TOLD)
    assert isinstance(request, Measure)
    assert (request.position, request.image) == (1, 2)
    for level, expected in ((-0.04, [(0, 1)]), (0.0, [])):
        taken = [*old, *disputed]
        for image in range(2, 7):
            taken += boots(1, image, level, 2, rng)
        answer = plan(1, Evidence(measurements=tuple(taken)), COSTS, TOLD)
        assert isinstance(answer, Answer)
        assert sure(answer) == expected
    assert [(odd.position, odd.image) for odd in answer.odd_images] == [(1, 0)]


def test_images_that_an_hour_made_slow_are_booted_again_before_a_step_is_stated():
    rng = np.random.default_rng(7)
    old = [b for image in range(4) for b in boots(0, image, 0.0, 2, rng)]
    fast, slow = (
        boots(1, 0, 0.0, 1, rng),
        [boots(1, image, -0.04, 1, rng)[0] for image in (1, 2, 3)],
    )
    taken = [*old, *fast, *slow]
    asked = []
    while isinstance(request := plan(1, Evidence(measurements=tuple(taken)), COSTS, TOLD), Measure):
        asked.append((request.position, request.image))
        taken += boots(request.position, request.image, 0.0, 1, rng)  # the hour is over
    assert any(position == 1 and image <= 3 for position, image in asked)
    assert sure(request) == []


def test_an_end_that_one_image_alone_shows_slow_differs_by_that_image():
    rng = np.random.default_rng(6)
    taken = boots(0, 0, 0.0, 4, rng) + boots(1, 0, -0.08, 4, rng)  # those of the alarm
    policy = replace(TOLD, claimed=-0.08)
    while isinstance(asked := plan(1, Evidence(measurements=tuple(taken)), COSTS, policy), Measure):
        level = -0.08 if (asked.position, asked.image) == (1, 0) else 0.0
        taken += boots(asked.position, asked.image, level, 1, rng)
    assert not asked.reproduced
    ((position, image, effect),) = [(o.position, o.image, o.effect) for o in asked.odd_images]
    assert (position, image) == (1, 0)
    assert effect == pytest.approx(-0.077, abs=0.01)
    assert len(taken) <= 20


def test_both_sides_of_a_step_below_a_tenth_stand_on_two_images():
    answer, evidence = search(Lab(n=64, steps={20: -0.04}, sigma_build=0.002), TOLD)
    assert sure(answer) == [(19, 20)]
    for side in (19, 20):
        assert len({m.image for m in evidence.measurements if m.position == side}) >= 2


def test_a_step_of_a_quarter_needs_no_second_image_and_three_boots_of_each_side():
    policy = replace(TOLD, claimed=-0.25)
    answer, evidence = search(Lab(n=64, steps={20: -0.25}), policy)
    assert sure(answer) == [(19, 20)]
    for side in (19, 20):
        assert sum(m.position == side for m in evidence.measurements) == 3


def test_without_a_second_image_a_small_step_is_not_separated_from_layout():
    policy = replace(TOLD, images=False)
    answer, _ = search(Lab(n=64, steps={20: -0.04}), policy)
    assert [(s.old, s.new, s.separated) for s in answer.steps] == [(19, 20, False)]


def test_a_metric_that_does_not_depend_on_link_order_needs_none():
    policy = replace(TOLD, images=False, layout=False, sigma_build=0.0)
    answer, _ = search(Lab(n=64, steps={20: -0.04}), policy)
    assert [(s.old, s.new, s.separated) for s in answer.steps] == [(19, 20, True)]


@pytest.mark.parametrize("seed", range(3))
def test_twenty_small_steps_are_a_slope_with_its_parts(seed):
    commits = np.random.default_rng(seed).choice(np.arange(1, 257), 20, replace=False)
    lab = Lab(n=256, steps=dict.fromkeys(map(int, commits), -0.003), sigma_run=0.003, seed=seed)
    policy = SearchPolicy(sigma_run=0.003, sigma_build=0.0, claimed=-0.06, max_measurements=400)
    answer, evidence = search(lab, policy)
    (slope,) = answer.slopes
    assert answer.reproduced
    assert slope.whole.low <= 0.997**20 - 1 <= slope.whole.high
    assert slope.parts[0].old == 0
    assert slope.parts[-1].new == 256
    assert [part.new for part in slope.parts[:-1]] == [part.old for part in slope.parts[1:]]
    assert len(evidence.measurements) <= 80


@pytest.mark.parametrize(
    ("count", "effect", "sigma", "least"), [(8, -0.04, 0.015, 0.1), (3, -0.011, 0.004, 0.02)]
)
def test_small_steps_among_noise_are_a_slope_and_none_is_stated(count, effect, sigma, least):
    commits = np.random.default_rng(200).choice(np.arange(1, 257), count, replace=False)
    lab = Lab(n=256, steps=dict.fromkeys(map(int, commits), effect), sigma_run=sigma, seed=202)
    policy = SearchPolicy(
        sigma_run=sigma, sigma_build=0.0, claimed=count * effect, min_effect=least
    )
    answer, _ = search(lab, policy)
    assert answer.steps == ()
    assert [slope.whole.effect for slope in answer.slopes] == [
        pytest.approx((1 + effect) ** count - 1, rel=0.2)
    ]


def beside_each_other(*levels: float) -> Evidence:
    """Neighbours with eight boots each, of noise that is the same for all, about these levels."""
    noise = 0.004 * np.array([-1.5, -0.8, -0.4, -0.1, 0.1, 0.4, 0.8, 1.5])
    taken = [
        Measurement(position=position, value=float(np.exp(level + one)))
        for position, level in enumerate(levels)
        for one in noise
    ]
    return Evidence(measurements=tuple(taken))


ONE_IMAGE = SearchPolicy(sigma_run=0.004, sigma_build=0.0, min_effect=0.02, layout=False)


def test_neighbours_that_each_lose_less_than_a_relevant_effect_are_a_slope():
    answer = plan(3, beside_each_other(0.0, -0.013, -0.026, -0.039), COSTS, ONE_IMAGE)
    assert isinstance(answer, Answer)
    assert answer.steps == ()
    assert [len(slope.parts) for slope in answer.slopes] == [3]


def test_kernels_that_lie_near_each_other_are_booted_again_before_others_are_built():
    marks = {64 * i: -0.009 * i for i in range(5)}
    taken = [
        Measurement(position=position, value=float(np.exp(level + one)))
        for position, level in marks.items()
        for one in (-0.003, 0.0, 0.003)
    ]
    request = plan(256, Evidence(measurements=tuple(taken)), COSTS, ONE_IMAGE)
    assert isinstance(request, Measure)
    assert request.position in marks


def test_a_step_that_explains_the_ends_is_named_though_it_reads_as_less_than_relevant():
    """What is known of the levels around it says that it is relevant."""
    lower = [-0.017] * 4
    answer = plan(5, beside_each_other(0.0, -0.0145, *lower), COSTS, ONE_IMAGE)
    assert isinstance(answer, Answer)
    assert sure(answer) == [(0, 1)]


def test_steps_that_each_lose_more_are_stated_one_by_one():
    answer = plan(3, beside_each_other(0.0, -0.022, -0.044, -0.066), COSTS, ONE_IMAGE)
    assert isinstance(answer, Answer)
    assert sure(answer) == [(0, 1), (1, 2), (2, 3)]
    assert answer.slopes == ()


def test_a_long_untestable_stretch_takes_a_dozen_failing_builds():
    broken = frozenset(range(60, 140))
    lab = Lab(n=256, steps={100: -0.05}, broken=broken)
    answer, evidence = search(lab, replace(TOLD, claimed=-0.05))
    (step,) = answer.steps
    assert step.old < 60
    assert step.new >= 140
    assert len(evidence.untestable) <= 12


@pytest.mark.parametrize("away", [1, 3, 8])
def test_a_culprit_beside_an_untestable_stretch_is_found(away):
    broken = frozenset(range(157, 232))
    for new in (157 - away, 231 + away):
        old = 156 if new == 232 else new - 1
        lab = Lab(n=300, steps={new: -0.05}, broken=broken)
        answer, evidence = search(lab, replace(TOLD, claimed=-0.05))
        assert [(step.old, step.new) for step in answer.steps] == [(old, new)]
        assert len(evidence.untestable) <= 12


@pytest.mark.parametrize("most", range(6, 22))
def test_a_search_that_runs_out_of_boots_states_no_step_with_two_of_a_side(most):
    policy = replace(TOLD, claimed=-0.25, max_measurements=most)
    answer, evidence = search(Lab(n=16, steps={4: -0.25, 11: -0.2}), policy)
    boots_of = Counter(one.position for one in evidence.measurements)
    for step in answer.steps:
        if step.is_sure(policy.error):
            assert min(boots_of[step.old], boots_of[step.new]) >= 3


def test_a_step_that_lacks_boots_is_told_from_a_proved_one():
    policy = replace(TOLD, claimed=-0.25)
    short, _ = search(Lab(n=4, steps={2: -0.25}), replace(policy, max_measurements=7))
    full, _ = search(Lab(n=4, steps={2: -0.25}), policy)
    assert [(s.new, s.probability > 0.99, s.proved) for s in short.steps] == [(2, True, False)]
    assert [(s.new, s.probability > 0.99, s.proved) for s in full.steps] == [(2, True, True)]


SHARED = SearchPolicy(sigma_run=0.02, sigma_build=0.0, layout=False, images=False, spells=True)


@pytest.mark.parametrize(("later", "found"), [(-0.4, [(0, 1)]), (0.0, [])])
def test_runs_of_one_side_in_a_spell_show_no_step_until_both_had_their_turns(later, found):
    """Eight runs of one side in a row are fast: its level, or nothing else was at work just then.

    `later` is what its runs are off by from then on.
    """
    rng = np.random.default_rng(8)
    taken, asked = [], []

    def run(position: int, level: float) -> None:
        value = float(np.exp(level + rng.normal(0, 0.02)))
        taken.append(Measurement(position=position, value=value, at_s=0.1 * len(taken)))

    for position, level in [(0, 0.0), (1, 0.0), *[(0, 0.0)] * 8, *[(1, -0.4)] * 8]:
        run(position, later if len(taken) == 1 else level)
    while isinstance(
        wanted := plan(1, Evidence(measurements=tuple(taken)), COSTS, SHARED), Measure
    ):
        asked.append(wanted.position)
        run(wanted.position, later if wanted.position else 0.0)
    assert [(one.old, one.new) for one in wanted.steps] == found
    assert asked[:4] == [0, 1, 0, 1]
    assert len(asked) < 60
