"""What a report prints of a change agrees with itself: levels, percentage and interval."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.model import Side
from buildbot_bench.core.report.side_levels import (
    MeasuredSide,
    change_between,
    measure_side,
    measured_values,
    pooled,
    weighed,
)
from buildbot_bench.core.sample import PPS, Iteration, Sample
from buildbot_bench.core.search import Step
from tests.fakes.reports import history

GOLDEN = Path(__file__).parents[1] / "golden" / "mail"
HEADLINE = re.compile(
    r"(?P<verb>fell|rose) by (?P<size>[\d.]+)% \(95% interval (?P<low>[+-][\d.]+)% to "
    r"(?P<high>[+-][\d.]+)%\), from (?P<old>[\d.]+) to (?P<new>[\d.]+) "
)
positive = st.floats(min_value=1.0, max_value=1e9)


def sample(position: int, image: int, *values: float) -> Sample:
    return Sample(
        label=f"r{position}",
        position=position,
        image=image,
        iterations=tuple(Iteration(value=value) for value in values),
        metric=PPS,
    )


def a_side(*images: tuple[float, ...]) -> MeasuredSide:
    values = tuple(value for image in images for value in image)
    level = fmean(map(fmean, images))
    return MeasuredSide(side=Side(label="r1", values=values), level=level, images=len(images))


def a_step(effect: float, error: float = 0.02) -> Step:
    return Step(
        old=0, new=1, effect=effect, low=effect - error, high=effect + error, probability=0.995
    )


def test_a_level_is_the_mean_over_images_of_the_means_over_boots():
    samples = [sample(0, 0, 100.0, 100.0, 100.0, 100.0), sample(0, 1, 110.0)]
    side = measure_side(measured_values(samples, PPS), history(1), [0])
    assert side.level == pytest.approx(105.0)
    assert side.images == 2


def test_boots_of_a_kernel_under_two_names_are_boots_of_one_image():
    samples = [sample(1, 0, 100.0, 100.0, 100.0), sample(2, 0, 140.0)]
    side = measure_side(measured_values(samples, PPS, same=[2]), history(2), [1])
    assert side.level == pytest.approx(110.0)
    assert side.images == 1


def test_the_percentage_is_that_of_the_levels_beside_it():
    change = change_between(a_side((350076.0,) * 3), a_side((254373.0,) * 3), a_step(-0.268))
    assert change.effect == pytest.approx(254373 / 350076 - 1)
    assert change.low < change.effect < change.high
    assert change.notes == ()


def test_a_pooled_block_is_called_so_where_a_side_has_two_images():
    change = change_between(a_side((100.0,) * 3, (102.0,)), a_side((75.0,) * 3), a_step(-0.25))
    assert change.notes == (pooled(ItemUnderTest.KERNEL),)


def test_levels_that_contradict_the_search_are_not_printed():
    change = change_between(a_side((100.0, 100.0, 40.0)), a_side((75.0,) * 3), a_step(-0.25))
    assert change.levels is None
    assert change.effect == -0.25
    assert change.notes == (weighed(ItemUnderTest.KERNEL),)


@given(old=positive, ratio=st.floats(0.05, 20.0), shift=st.floats(-1.0, 1.0))
def test_the_interval_keeps_its_relative_width_around_the_printed_change(old, ratio, shift):
    effect = ratio - 1
    step = a_step(effect, error=0.04 * ratio)
    new = old * ratio * (1 + 0.03 * shift)
    change = change_between(a_side((old,)), a_side((new,)), step)
    assert change.levels is not None
    assert change.low <= change.effect <= change.high
    assert (1 + change.high) / (1 + change.low) == pytest.approx((1 + step.high) / (1 + step.low))


@pytest.mark.parametrize("mail", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_each_percentage_of_a_golden_mail_is_that_of_the_levels_printed_beside_it(mail):
    text = " ".join(mail.read_text(encoding="utf-8").split())
    for found in HEADLINE.finditer(text):
        old, new = float(found["old"]), float(found["new"])
        change = 100 * (new / old - 1)
        assert abs(change) == pytest.approx(float(found["size"]), abs=0.06)
        assert (change < 0) == (found["verb"] == "fell")
        assert float(found["low"]) <= change + 0.06
        assert float(found["high"]) >= change - 0.06


def test_the_golden_mails_have_headlines_to_recompute():
    texts = (" ".join(mail.read_text(encoding="utf-8").split()) for mail in GOLDEN.glob("*.txt"))
    assert sum(len(HEADLINE.findall(text)) for text in texts) >= 5
