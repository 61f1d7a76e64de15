"""What holds of the judge whatever was measured."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Suspicion, Verdict
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Sample
from tests.fakes.judged_farm import Farm

NOISES = st.builds(
    Noise,
    sigma_run=st.floats(0.001, 0.03),
    sigma_build=st.floats(0.0001, 0.03),
    df_run=st.floats(4, 200),
    df_build=st.floats(4, 200),
)


@st.composite
def farms(draw: st.DrawFn) -> Farm:
    """Some commits, one to six boots each, and a change of any size at one of them."""
    commits = draw(st.integers(1, 12))
    at, effect = draw(st.integers(1, commits)), draw(st.floats(-0.3, 0.3))
    farm = Farm(
        noise=draw(NOISES),
        level=lambda p: math.log1p(effect) if p >= at else 0.0,
        seed=draw(st.integers(0, 1000)),
    )
    for position in range(1, commits + 1):
        farm.boot(position, times=draw(st.integers(1, 6)))
    return farm


def last(farm: Farm) -> int:
    return max(position for position, _ in farm.boots)


def verdict_of(samples: list[Sample], new: Sample, farm: Farm) -> Verdict:
    return judge(samples, new, farm.noise, farm.policy)


@settings(max_examples=60, deadline=None)
@given(farm=farms(), images=st.booleans())
def test_it_ends_after_a_few_rounds(farm: Farm, images: bool) -> None:
    farm.settle(last(farm), images=images)
    assert farm.rounds <= 12


@settings(max_examples=60, deadline=None)
@given(farm=farms())
def test_it_ends_without_a_clock_too(farm: Farm) -> None:
    farm.boot_s = 0.0
    farm.boots = {
        key: [replace(boot, at_s=0.0) for boot in boots] for key, boots in farm.boots.items()
    }
    farm.clock_s = 0.0
    farm.settle(last(farm))
    assert farm.rounds <= 12


@settings(max_examples=60, deadline=None)
@given(farm=farms(), images=st.booleans())
def test_it_asks_only_for_what_is_not_there(farm: Farm, images: bool) -> None:
    verdict = farm.look(last(farm))
    if isinstance(verdict, Suspicion):
        assert verdict.remeasure
        assert all(request.iterations > 0 for request in verdict.remeasure)
        assert all(
            (request.position, request.image) in farm.boots
            or request.position in {last(farm), verdict.anchor}
            for request in verdict.remeasure
        )


@settings(max_examples=60, deadline=None)
@given(farm=farms(), data=st.data())
def test_the_order_of_samples_and_boots_does_not_matter(farm: Farm, data: st.DataObject) -> None:
    farm.settle(last(farm))
    history, new = farm.split(last(farm))
    shuffled = data.draw(st.permutations(history))
    turned = [replace(s, iterations=s.iterations[::-1]) for s in shuffled]
    one, other = verdict_of(history, new, farm), verdict_of(turned, new, farm)
    assert type(one) is type(other)
    if isinstance(one, Alarm | Suspicion) and isinstance(other, Alarm | Suspicion):
        assert other.anchor == one.anchor
        assert other.effect == pytest.approx(one.effect, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(farm=farms())
def test_the_direction_only_names_the_alarm(farm: Farm) -> None:
    verdict = farm.settle(last(farm))
    history, new = farm.split(last(farm))
    flipped = judge(history, new, farm.noise, replace(farm.policy, higher_is_better=False))
    if isinstance(verdict, Alarm):
        assert isinstance(flipped, Alarm)
        assert {verdict.direction, flipped.direction} == {"regression", "improvement"}
        assert flipped.effect == verdict.effect
    else:
        assert flipped == verdict


@settings(max_examples=60, deadline=None)
@given(farm=farms())
def test_the_mirror_image_flips_the_sign(farm: Farm) -> None:
    farm.settle(last(farm))
    history, new = farm.split(last(farm))
    one = verdict_of(history, new, farm)
    other = verdict_of([mirrored(s) for s in history], mirrored(new), farm)
    if "less than the 2 % of a change" in one.reason + other.reason:
        return  # a rise is the larger part of what was lower: 2 % is -1.96 % in the mirror
    assert type(one) is type(other)
    if isinstance(one, Alarm) and isinstance(other, Alarm):
        assert math.log1p(other.effect) == pytest.approx(-math.log1p(one.effect), abs=1e-9)
        assert {one.direction, other.direction} == {"regression", "improvement"}


@settings(max_examples=60, deadline=None)
@given(farm=farms(), scale=st.floats(1e-3, 1e6))
def test_the_unit_does_not_matter(farm: Farm, scale: float) -> None:
    farm.settle(last(farm))
    history, new = farm.split(last(farm))
    one = verdict_of(history, new, farm)
    other = verdict_of([scaled(s, scale) for s in history], scaled(new, scale), farm)
    assert type(one) is type(other)
    if isinstance(one, Alarm) and isinstance(other, Alarm):
        assert other.effect == pytest.approx(one.effect, abs=1e-9)
        assert other.probability == pytest.approx(one.probability, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(farm=farms())
def test_which_image_arrived_last_does_not_matter(farm: Farm) -> None:
    position = last(farm)
    farm.boot(position, image=1, times=3)
    samples = farm.samples()
    verdicts = [
        verdict_of([s for s in samples if s is not new], new, farm)
        for new in samples
        if new.position == position
    ]
    first, second = (replace(verdict, comparison=None) for verdict in verdicts)
    assert first == second


@settings(max_examples=60, deadline=None)
@given(farm=farms())
def test_an_alarm_stands_on_three_fresh_boots_of_each_side_and_says_what_it_means(
    farm: Farm,
) -> None:
    began_s = farm.boots[last(farm), 0][0].at_s
    verdict = farm.settle(last(farm))
    if isinstance(verdict, Alarm):
        fresh = [(p, b) for (p, _), its in farm.boots.items() for b in its if b.at_s > began_s]
        assert sum(position == last(farm) for position, _ in fresh) >= 3
        assert sum(position < verdict.first for position, _ in fresh) >= 3
        assert verdict.low <= verdict.effect <= verdict.high
        assert verdict.anchor < verdict.first <= last(farm)
        assert 0.5 < verdict.probability < 1
        assert verdict.low * verdict.high > 0 or verdict.probability <= 0.975
        assert (verdict.effect < 0) is (verdict.direction == "regression")


@settings(max_examples=200, deadline=None)
@given(
    effect=st.floats(0.005, 0.035) | st.floats(-0.035, -0.005),
    sigmas=st.tuples(st.floats(0.0005, 0.004), st.floats(0.0001, 0.003)),
    seed=st.integers(0, 1000),
    images=st.booleans(),
)
def test_no_alarm_states_less_than_min_effect(
    effect: float, sigmas: tuple[float, float], seed: int, images: bool
) -> None:
    noise = Noise(sigma_run=sigmas[0], sigma_build=sigmas[1], df_run=50, df_build=50)
    farm = Farm(noise=noise, level=lambda p: math.log1p(effect) if p > 4 else 0.0, seed=seed)
    for position in range(1, 10):
        farm.boot(position, times=2)
        verdict = farm.settle(position, images=images)
        if isinstance(verdict, Alarm):
            assert abs(verdict.effect) >= farm.policy.min_effect


def test_what_is_small_costs_boots_once_and_small_ones_add_up() -> None:
    quiet = Noise(sigma_run=0.002, sigma_build=0.001, df_run=50, df_build=50)
    farm = Farm(noise=quiet, level=lambda p: -0.018 * (p >= 5) - 0.018 * (p >= 12))
    said = {}
    for position in range(1, 14):
        farm.boot(position)
        before = farm.rounds
        said[position] = (farm.settle(position), farm.rounds - before)
    assert "less than the 2 % of a change" in said[5][0].reason
    assert said[5][1] > 0
    assert sum(rounds for _, rounds in (said[position] for position in range(6, 12))) == 0
    alarm, _ = said[13]
    assert isinstance(alarm, Alarm)
    assert alarm.effect < -0.02


def test_policies_compare_by_value() -> None:
    assert JudgePolicy() == JudgePolicy()


def mirrored(sample: Sample) -> Sample:
    iterations = tuple(replace(i, value=1e12 / (i.value or 1.0)) for i in sample.iterations)
    return replace(sample, iterations=iterations)


def scaled(sample: Sample, scale: float) -> Sample:
    iterations = tuple(replace(i, value=scale * (i.value or 1.0)) for i in sample.iterations)
    return replace(sample, iterations=iterations)


@st.composite
def denied(draw: st.DrawFn) -> tuple[Farm, bool]:
    """A change that only the first image of one side shows; as many others of it deny it, or more.

    The second value says whether it is the old side's, which then has no other position.
    """
    effect = draw(st.floats(0.01, 0.3)) * draw(st.sampled_from((-1, 1)))
    noise = draw(NOISES)
    old = draw(st.booleans())
    commits = 1 if old else draw(st.integers(1, 30))
    farm = Farm(noise=noise, seed=draw(st.integers(0, 1000)))
    seen = JudgePolicy(corroborated=frozenset({"regression", "improvement"}))
    farm.policy = draw(st.sampled_from((JudgePolicy(), seen)))
    farm.layout = {(p, 0): 0.0 for p in range(1, commits + 2)}
    lucky = 1 if old else commits + 1
    further = draw(st.integers(1, 4))
    farm.layout |= {(lucky, image): 0.0 for image in range(1, further + 1)}
    farm.layout[lucky, 0] = math.log1p(effect)
    quiet = replace(noise, sigma_run=0.0)
    farm.noise = quiet  # what images are is plain to see; the judge does not know
    for position, image in sorted(farm.layout):
        farm.boot(position, image=image, times=draw(st.integers(1, 8)))
    farm.noise = noise
    return farm, old


@settings(max_examples=300, deadline=None)
@given(case=denied())
def test_what_further_images_of_a_side_deny_is_no_alarm(case: tuple[Farm, bool]) -> None:
    farm, _ = case
    assert not isinstance(farm.look(last(farm)), Alarm)
    positions = {position for position, _ in farm.boots}
    for position in positions:  # nor with any number of fresh boots of what is there
        for image in {image for p, image in farm.boots if p == position}:
            farm.boot(position, image=image, times=5)
    assert not isinstance(farm.look(last(farm)), Alarm)
