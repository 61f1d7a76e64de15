"""What a report prints of a change agrees with itself: levels, percentage and interval."""

import re
from email import message_from_bytes, policy
from html import unescape
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
    r"(?P<verb>lowered|raised)?(?: the [^%]{,80} by)? (?P<size>[\d.]+) %"
    r"(?: (?P<way>slower|faster|more|fewer)[^%(]*)? "
    r"\((?P<old>[\d.,]+) → (?P<new>[\d.,]+)[^)]*\)\. "
    r"The 95 % interval is (?P<low>[+-][\d.]+) % to (?P<high>[+-][\d.]+) %\."
)
NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
MINISTAT = re.compile(
    rf"^x +\d+ +{NUMBER} +{NUMBER} +{NUMBER} +{NUMBER} +\S+\n"
    rf"\+ +\d+ +{NUMBER} +{NUMBER} +{NUMBER} +{NUMBER} +\S+\n"
    rf"Difference at [\d.]+% confidence\n\s+{NUMBER} \+/- \S+\n\s+{NUMBER}% ",
    re.MULTILINE,
)
COST = re.compile(
    r" (?P<old>[\d.,]+)(?: ?%)? +(?P<new>[\d.,]+)(?: ?%)? +(?P<change>[+-][\d.,]+)$", re.MULTILINE
)
GOLDEN_MAILS = sorted(path for path in GOLDEN.iterdir() if path.suffix != ".json")
positive = st.floats(min_value=1.0, max_value=1e9)


def said(mail: Path) -> str:
    """What a reader sees of a golden mail, whatever its form: text, HTML, Markdown, or both."""
    if mail.suffix == ".eml":
        message = message_from_bytes(mail.read_bytes(), policy=policy.default)
        parts = [part for part in message.walk() if part.get_content_maintype() == "text"]
        return "\n".join(seen(part.get_content(), part.get_content_subtype()) for part in parts)
    return seen(mail.read_text(encoding="utf-8"), mail.suffix[1:])


def seen(text: str, form: str) -> str:
    return unescape(re.sub(r"<[^<>]*>", "", text)) if form == "html" else text


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


@pytest.mark.parametrize("mail", GOLDEN_MAILS, ids=lambda path: path.name)
def test_each_percentage_of_a_golden_mail_is_that_of_the_levels_printed_beside_it(mail):
    text = " ".join(said(mail).split())
    for found in HEADLINE.finditer(text):
        old, new = (float(found[side].replace(",", "")) for side in ("old", "new"))
        change = 100 * (new / old - 1)
        assert abs(change) == pytest.approx(float(found["size"]), abs=0.06)
        assert (change < 0) == bool({found["verb"], found["way"]} & {"lowered", "slower", "fewer"})
        assert float(found["low"]) <= change + 0.06
        assert float(found["high"]) >= change - 0.06


def test_the_golden_mails_have_headlines_to_recompute():
    for form in ("txt", "html", "md", "eml"):
        texts = (" ".join(said(mail).split()) for mail in GOLDEN.glob(f"*.{form}"))
        assert sum(len(HEADLINE.findall(text)) for text in texts) >= 5, form


@pytest.mark.parametrize("mail", GOLDEN_MAILS, ids=lambda path: path.name)
def test_each_block_of_a_golden_mail_has_the_difference_of_its_own_averages(mail):
    for figures in MINISTAT.findall(said(mail)):
        *_, old = map(float, figures[:4])
        *_, new = map(float, figures[4:8])
        difference, percent = map(float, figures[8:])
        assert difference == pytest.approx(new - old, rel=1e-4, abs=abs(old) * 2e-6)
        assert percent == pytest.approx(100 * difference / old, rel=1e-3, abs=1e-6)


def test_the_golden_mails_have_blocks_to_recompute_in_each_form():
    for form in ("txt", "html", "md", "eml"):
        blocks = (MINISTAT.findall(said(mail)) for mail in GOLDEN.glob(f"*.{form}"))
        assert sum(map(len, blocks)) >= 5, form


@pytest.mark.parametrize("name", ["counted.txt", "profiled.txt"])
def test_each_change_of_a_table_of_costs_is_that_of_its_two_figures(name):
    found = list(COST.finditer(said(GOLDEN / name)))
    assert len(found) >= 5
    for row in found:
        figures = row["old"], row["new"], row["change"]
        old, new, change = (float(figure.replace(",", "")) for figure in figures)
        # Each of the three is rounded by itself.
        rounding = 0.016 if all("." in figure for figure in figures) else 1.6
        assert change == pytest.approx(new - old, abs=rounding)
