"""A step that one series showed is confirmed or denied by boots of both its sides on another."""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.incident.confirmation import (
    Confirmation,
    Standing,
    confirmation,
    leaves_a_rest,
)
from buildbot_bench.core.judge.model import Remeasure
from buildbot_bench.core.search import Evidence, Measurement, SearchPolicy

OLD, NEW = 3, 4
POLICY = SearchPolicy(min_effect=0.02, claimed=-0.05, sigma_run=0.005, sigma_build=0.0, error=0.01)


@dataclass
class Series:
    """One series: a step at NEW; `levels` are those of odd images, in ln."""

    step: float
    sigma: float = 0.005
    levels: dict[tuple[int, int], float] = field(default_factory=dict)
    seed: int = 1
    measured: list[Measurement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def boot(self, wanted: Remeasure) -> None:
        usual = np.log1p(self.step) if wanted.position >= NEW else 0.0
        level = self.levels.get((wanted.position, wanted.image), usual)
        for _ in range(wanted.iterations):
            value = 1e6 * float(np.exp(level + self._rng.normal(0, self.sigma)))
            self.measured.append(
                Measurement(position=wanted.position, image=wanted.image, value=value)
            )

    def settle(self, policy: SearchPolicy = POLICY) -> Confirmation:
        """Measure what is asked for until there is a verdict."""
        for _ in range(100):
            evidence = Evidence(measurements=tuple(self.measured))
            found = confirmation(OLD, NEW, evidence, policy)
            if isinstance(found, Confirmation):
                return found
            for boots in found:
                self.boot(boots)
        raise AssertionError("it never ends")


def wanted(*measured: tuple[int, int], policy: SearchPolicy = POLICY) -> Counter:
    """What is asked for when these (position, image) were booted: boots by position and image."""
    evidence = Evidence(
        measurements=tuple(Measurement(position=p, image=i, value=1e6) for p, i in measured)
    )
    found = confirmation(OLD, NEW, evidence, policy)
    assert isinstance(found, tuple)
    return Counter({(b.position, b.image): b.iterations for b in found})


def test_three_boots_of_each_side_are_asked_for_on_two_images():
    assert wanted() == {(OLD, 0): 2, (OLD, 1): 1, (NEW, 0): 2, (NEW, 1): 1}


def test_one_image_is_enough_where_layout_cannot_do_as_much():
    counted, large = replace(POLICY, layout=False), replace(POLICY, claimed=-0.3)
    for policy in (counted, large):
        assert wanted(policy=policy) == {(OLD, 0): 3, (NEW, 0): 3}


def test_what_was_measured_before_is_not_measured_again():
    known = [(OLD, 0)] * 5 + [(NEW, 2)] * 2
    assert wanted(*known) == {(OLD, 1): 1, (NEW, 3): 1}


def test_boots_of_an_identical_kernel_count_for_the_side():
    measured = tuple(Measurement(position=2, value=1e6, image=i) for i in (0, 0, 1))
    evidence = Evidence(measurements=measured, same_as_previous=frozenset({OLD}))
    found = confirmation(OLD, NEW, evidence, POLICY)
    assert isinstance(found, tuple)
    assert {boots.position for boots in found} == {NEW}


def test_a_plain_step_is_confirmed_by_three_boots_of_each_side():
    series = Series(step=-0.05)
    found = series.settle()
    assert (found.standing, len(series.measured)) == (Standing.CONFIRMED, 6)
    assert found.low < -0.05 < found.high


def test_no_step_is_denied():
    series = Series(step=0.0)
    assert series.settle().standing is Standing.DENIED
    assert len(series.measured) <= 24


def test_a_step_the_other_way_is_denied():
    assert Series(step=0.05).settle().standing is Standing.DENIED


def test_what_is_counted_needs_three_boots_of_each_side_and_no_image():
    policy = replace(
        POLICY, claimed=0.004, min_effect=0.001, sigma_run=0.0002, layout=False,
        higher_is_better=False,
    )  # fmt: skip
    series = Series(step=0.004, sigma=0.0)
    assert series.settle(policy).standing is Standing.CONFIRMED
    assert len(series.measured) == 6


@pytest.mark.parametrize("slow", [(NEW, 0), (OLD, 0)])
def test_a_step_that_one_image_alone_shows_is_denied(slow):
    levels = {slow: -0.05 if slow[0] == NEW else 0.05}
    series = Series(step=0.0, levels=levels)
    assert series.settle().standing is Standing.DENIED


def test_one_odd_image_of_three_denies_nothing():
    series = Series(step=-0.05, levels={(NEW, 1): 0.0})
    assert series.settle().standing is Standing.CONFIRMED
    assert {m.image for m in series.measured if m.position == NEW} == {0, 1, 2}


def test_the_side_whose_images_contradict_each_other_is_asked_first():
    levels = {0: 0.0, 1: 0.0, 2: -0.05, 3: 0.0}
    measured = tuple(
        Measurement(position=at, image=image, value=1e6 * float(np.exp(levels[image + at - OLD])))
        for at, image in ((OLD, 0), (OLD, 0), (OLD, 1), (NEW, 0), (NEW, 0), (NEW, 1))
    )
    found = confirmation(OLD, NEW, Evidence(measurements=measured), POLICY)
    assert isinstance(found, tuple)
    assert {boots.position for boots in found} == {NEW}
    assert {boots.image: boots.iterations for boots in found} == {0: 1, 1: 2}


def test_a_step_that_turns_out_smaller_than_claimed_stands_on_two_images_after_all():
    series = Series(step=-0.05)
    assert series.settle(replace(POLICY, claimed=-0.12)).standing is Standing.CONFIRMED
    assert {(m.position, m.image) for m in series.measured} >= {(OLD, 1), (NEW, 1)}


def test_without_a_second_image_a_small_step_is_not_told_from_layout():
    found = Series(step=-0.05).settle(replace(POLICY, images=False))
    assert found.standing is Standing.UNCLEAR
    assert "layout" in found.reason
    large = Series(step=-0.3).settle(replace(POLICY, images=False, claimed=-0.3))
    assert large.standing is Standing.CONFIRMED


def test_noise_that_is_larger_than_told_asks_for_more_boots():
    boots = []
    for seed in range(20):
        series = Series(step=-0.05, sigma=0.02, seed=seed)
        series.settle()
        boots.append(len(series.measured))
    assert np.mean(boots) > 7


def test_an_outlier_costs_boots_and_no_verdict():
    series = Series(step=-0.05)
    series.measured = [Measurement(position=OLD, value=0.8e6)]
    assert series.settle().standing is Standing.CONFIRMED


def test_without_noise_told_the_boots_tell_it():
    policy = replace(POLICY, sigma_run=None, sigma_build=None)
    assert Series(step=-0.05).settle(policy).standing is Standing.CONFIRMED


def test_an_unknown_confidence_is_refused():
    series = Series(step=-0.05)
    series.settle()
    with pytest.raises(UsageError, match="confidence"):
        confirmation(
            OLD, NEW, Evidence(measurements=tuple(series.measured)), POLICY, confidence=94.0
        )


def test_a_step_far_below_what_the_alarm_saw_leaves_a_rest():
    found = Confirmation(
        standing=Standing.CONFIRMED, effect=-0.03, low=-0.035, high=-0.025, reason=""
    )
    assert leaves_a_rest(found, -0.09, -0.06, 0.02)
    assert not leaves_a_rest(found, -0.07, -0.05, 0.02)
    assert not leaves_a_rest(found, -0.09, 0.01, 0.02)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), step=st.sampled_from([-0.05, -0.1, -0.3, 0.0, 0.04]))
def test_it_ends_within_its_looks(seed, step):
    series = Series(step=step, seed=seed, sigma=0.02)
    series.settle()
    boots = Counter(m.position for m in series.measured)
    assert max(boots.values()) <= 20 + 9


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    side=st.sampled_from([OLD, NEW]),
    far=st.floats(0.03, 0.09),
)
def test_no_evidence_in_which_the_other_images_deny_the_step_confirms_it(seed, side, far):
    series = Series(step=0.0, seed=seed, levels={(side, 0): far if side == OLD else -far})
    assert series.settle(replace(POLICY, claimed=-far)).standing is not Standing.CONFIRMED


def test_wrong_verdicts_are_rarer_than_the_accepted_error():
    wrong = 0
    for seed in range(600):
        step, wish = (0.0, Standing.CONFIRMED) if seed % 2 else (-0.025, Standing.DENIED)
        series = Series(step=step, seed=seed)
        policy = replace(POLICY, claimed=-0.025)
        wrong += series.settle(policy).standing is wish
    assert wrong <= 6


def test_build_noise_that_is_told_as_a_third_of_what_it_is_confirms_nothing_by_luck():
    """Judged by `make bench` on other seeds; .6 % where .2 % is told."""
    policy, wrong = replace(POLICY, claimed=-0.04, sigma_build=0.002), 0
    for seed in range(300):
        luck = np.random.default_rng([seed, 1]).normal(0, 0.006, (2, 12))
        levels = {(at + OLD, i): luck[at, i] for at in (0, 1) for i in range(12)}
        series = Series(step=0.0, seed=seed, levels=levels)
        wrong += series.settle(policy).standing is Standing.CONFIRMED
    assert wrong <= 3


def test_further_images_are_asked_for_where_those_at_hand_lie_further_apart_than_told():
    policy = replace(POLICY, claimed=-0.04, sigma_build=0.001)
    levels = {(OLD, 0): -0.009, (OLD, 1): 0.009, (NEW, 0): -0.019, (NEW, 1): -0.037}
    apart = Series(step=-0.028, levels=levels)
    apart.settle(policy)
    alike = Series(step=-0.028)
    alike.settle(policy)
    images = [len({(m.position, m.image) for m in one.measured}) for one in (apart, alike)]
    assert images[0] > images[1] == 4
