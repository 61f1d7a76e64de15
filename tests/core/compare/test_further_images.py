"""A comparison boots the further images that its verdicts need, and none that they do not."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.compare.model import SeriesValues
from buildbot_bench.core.compare.schedule import (
    BootLimits,
    VariantPlan,
    expected_boots,
    more_images,
)
from buildbot_bench.core.compare.text import markdown, text
from buildbot_bench.core.compare.verdict import (
    Better,
    ComparisonTerms,
    NoDifference,
    Undecided,
    WithinLayoutLuck,
    Worse,
    compared,
)
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, PPS, Metric
from tests.fakes.compared import LEARNT, comparison_of

APU2 = LEARNT
WANTED = ComparisonTerms(min_effect=0.02, confidence=95.0)
SEEDS = st.integers(0, 2**32 - 1)
FREE = ("", "", "")
ONE = "one of each was asked for"

Plans = tuple[VariantPlan, ...]


class Lab:
    """Variants at levels; each image has a luck of its own, `unlucky` ones are slow by 8 %."""

    def __init__(
        self,
        levels: tuple[float, ...],
        seed: int,
        *,
        unlucky: tuple[tuple[int, int], ...] = (),
        metric: Metric = PPS,
        single: tuple[str, ...] = FREE,
    ) -> None:
        self.levels, self.unlucky = levels, unlucky
        self.metric, self.single = metric, single[: len(levels)]
        self.kernels: tuple[int, ...] = ()
        self._seed = seed

    def values(self, plans: Plans) -> SeriesValues:
        """All that is wanted was booted; the same boot of an image gives the same value."""
        boots = [
            [(image, boot) for image, n in plan.boots.items() for boot in range(n)]
            for plan in plans
        ]
        return SeriesValues(
            testbed="apu",
            workload="forwarding",
            metric=self.metric,
            values=tuple(
                tuple(self._value(place, image, boot) for image, boot in own)
                for place, own in enumerate(boots)
            ),
            booted=tuple(tuple(image for image, _ in own) for own in boots),
            kernels=self.kernels,
            single=self.single,
            noise=APU2,
        )

    def _value(self, place: int, image: int, boot: int) -> float:
        luck = np.random.default_rng([self._seed, place, image]).normal(0, APU2.sigma_build)
        run = np.random.default_rng([self._seed, place, image, boot]).normal(0, APU2.sigma_run)
        far = np.log(0.92) if (place, image) in self.unlucky else 0.0
        return float(1e6 * self.levels[place] * np.exp(luck + run + far))

    def first(self) -> Plans:
        return (VariantPlan(boots={0: 5}),) * len(self.levels)

    def steps(self, limits: BootLimits) -> list[Plans]:
        """What is wanted at first, and after each look until nothing more is."""
        found: list[Plans] = [self.first()]
        while (after := self.next(found[-1], limits)) != found[-1]:
            found.append(after)
        return found

    def next(self, plans: Plans, limits: BootLimits) -> Plans:
        places = range(len(self.levels))
        return more_images(self.values(plans), plans, limits, WANTED, booted=places)


@st.composite
def labs(draw) -> Lab:
    levels = st.sampled_from((0.91, 0.98, 1.0, 1.03))
    return Lab((1.0, draw(levels), draw(levels)), draw(SEEDS))


LIMITS = st.builds(BootLimits, boots=st.integers(3, 6), images=st.integers(1, 6))


@settings(max_examples=10, deadline=None)
@given(labs(), LIMITS)
def test_nothing_is_taken_back_and_no_limit_is_passed(lab, limits):
    steps = lab.steps(replace(limits, boots=5))
    for before, after in pairwise(steps):
        for old, new in zip(before, after, strict=True):
            assert all(new.boots[image] >= boots for image, boots in old.boots.items())
    for plan in steps[-1]:
        assert len(plan.boots) <= limits.images
        assert max(plan.boots.values()) <= 5
        assert plan.boots[0] == 5


@settings(max_examples=10, deadline=None)
@given(labs(), LIMITS)
def test_no_image_is_asked_for_that_no_verdict_needs(lab, limits):
    steps = lab.steps(limits)
    for before, after in pairwise(steps):
        values = lab.values(before)
        for place in (1, 2):
            verdict = compared(values, place, WANTED).verdict
            if isinstance(verdict, Better | Worse | NoDifference):
                assert after[place] == before[place]
        assert after[0] != before[0] or any(
            new != old for old, new in zip(before[1:], after[1:], strict=True)
        )
        # So many more as there were, so that it is looked again on the way.
        for place in (1, 2):
            fewest = min(len(before[0].boots), len(before[place].boots))
            assert len(after[place].boots) <= max(len(before[place].boots), 2 * fewest)
        assert len(after[0].boots) <= 2 * len(before[0].boots)
    last = steps[-1]
    for place in (1, 2):
        verdict = compared(lab.values(last), place, WANTED).verdict
        if isinstance(verdict, Undecided | WithinLayoutLuck) and verdict.needs:
            sides = (last[0], last[place])
            full = min(len(plan.boots) for plan in sides) >= limits.images
            boots = all(min(plan.boots.values()) >= limits.boots for plan in sides)
            assert full or boots or verdict.needs.images == 0


def test_one_image_of_each_is_enough_for_a_quarter():
    (only,) = Lab((1.0, 0.74), 1).steps(BootLimits(boots=5, images=16))
    assert [dict(plan.boots) for plan in only] == [{0: 5}, {0: 5}]


def test_below_ten_per_cent_two_images_of_each_are_booted_at_least():
    *_, last = Lab((1.0, 0.94), 1).steps(BootLimits(boots=5, images=16))
    assert all(len(plan.boots) >= 2 for plan in last)
    assert all(boots >= 2 for plan in last for boots in plan.boots.values())


@pytest.mark.parametrize("seed", range(5))
def test_an_image_that_is_slow_by_luck_is_denied_by_others(seed):
    lab = Lab((1.0, 1.0), seed, unlucky=((1, 0),))
    *_, last = lab.steps(BootLimits(boots=5, images=16))
    assert len(last[1].boots) >= 2
    assert not isinstance(compared(lab.values(last), 1, WANTED).verdict, Better | Worse)


@pytest.mark.parametrize(
    "lab",
    [
        Lab((1.0, 0.97), 3, single=(ONE, ONE)),
        Lab((1.0, 0.97), 3, single=("", "its images do not boot")),
        Lab((1.0, 0.97), 3, metric=INSTRUCTIONS_PER_PACKET),
    ],
)
def test_what_cannot_have_further_images_asks_for_none(lab):
    (only,) = lab.steps(BootLimits(boots=5, images=16))
    assert only == lab.first()


def test_variants_that_differ_in_tunables_boot_the_same_images():
    lab = Lab((1.0, 1.0, 0.97), 3)
    lab.kernels = (7, 7, 8)
    *_, last = lab.steps(BootLimits(boots=5, images=16))
    assert len(last[0].boots) == len(last[2].boots) >= 2
    assert set(last[1].boots) == {0}
    assert compared(lab.values(last), 1, WANTED).separated


def test_an_image_that_cannot_be_had_is_replaced_by_another_one():
    lab = Lab((1.0, 0.97), 3)
    plans = (VariantPlan(boots={0: 5}), VariantPlan(boots={0: 5}, lost=frozenset({1})))
    base, new = lab.next(plans, BootLimits(boots=5, images=16))
    assert (sorted(base.boots), sorted(new.boots)) == ([0, 1], [0, 2])
    assert new.lost == {1}


def test_one_that_takes_no_part_gets_nothing():
    lab = Lab((1.0, 0.97, 0.97), 3)
    plans = lab.first()
    values = lab.values(plans)
    limits = BootLimits(boots=5, images=16)
    after = more_images(values, plans, limits, WANTED, booted=(0, 2))
    assert [len(plan.boots) for plan in after] == [2, 1, 2]


def test_what_is_expected_grows_as_the_effect_shrinks():
    limits = BootLimits(boots=5, images=16)
    expected = [expected_boots(APU2, limits, effect) for effect in (0.25, 0.09, 0.03)]
    assert expected[0].images == 1
    assert expected[0].boots == 5
    assert [one.images for one in expected] == sorted(one.images for one in expected)
    assert expected_boots(APU2, BootLimits(boots=5, images=3), 0.01).images == 3


def test_the_report_tells_of_each_image():
    lab = Lab((1.0, 0.97), 3)
    plans = (VariantPlan(boots={0: 3, 1: 2}), VariantPlan(boots={0: 3, 2: 2}))
    report = comparison_of([lab.values(plans)], iterations=3, images=16)
    (series,) = report.series
    assert [[(one.image, one.boots) for one in own] for own in series.images] == [
        [(0, 3), (1, 2)],
        [(0, 3), (2, 2)],
    ]
    assert series.images[0][0].level == pytest.approx(np.mean(series.samples[0].values[:3]))
    for said in (text(report), markdown(report)):
        assert "3 boots of each's first image, at most 16 images of each" in said
        assert "r2: 2 images, 5 boots: 0: " in said
        assert "pool the boots of all images" in said


def test_the_report_says_why_there_is_one_image_alone():
    lab = Lab((1.0, 0.97), 3, single=(ONE, ONE))
    report = comparison_of([replace(lab.values(lab.first()), noise=None)])
    assert "no further image of each variant: one of each was asked for" in text(report)
    assert "cannot be decided with one image of each, worse" in text(report)
    assert "Images, each linked" not in text(report)
