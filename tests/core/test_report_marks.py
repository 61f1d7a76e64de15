"""What people said of changes, in reports: expected steps are known, noise widens the spread."""

from dataclasses import replace

import pytest

from buildbot_bench.core.judge.model import Said, Settled
from buildbot_bench.core.judge.segment import describe_marks
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import Context
from buildbot_bench.render.html import report_html, report_markdown
from buildbot_bench.render.message import report_text
from tests.fakes import reports

NOISE = Noise(sigma_run=0.005, sigma_build=0.005, df_run=50, df_build=50)
DROPS = {
    0: (100.0, 101.0, 99.0),
    1: (80.0, 81.0, 79.0),
    2: (80.0, 81.0, 79.0),
    3: (72.0, 73.0, 71.0),
}
SENTENCES = ("r7 was marked as noise by ann.",)


def report(*steps, **known):
    return compose(
        range=reports.history(3),
        answer=reports.answer(*steps),
        samples=reports.samples(DROPS),
        setting=reports.SETTING,
        known=Context(**known),
    )


BOTH = (reports.step(0, 1, -0.2), reports.step(2, 3, -0.1))


def test_an_expected_step_is_not_the_culprit_of_another_drop():
    assert report(*BOTH).headline.effect == pytest.approx(-0.2)
    told = report(*BOTH, expected={1: "ann"})
    assert told.headline.effect == pytest.approx(-0.1)
    assert told.mailable
    (known,) = told.other_steps
    assert (known.effect, known.expected_by) == (pytest.approx(-0.2), "ann")


def test_an_expected_step_alone_is_told_as_known_and_mailed_to_nobody():
    told = report(BOTH[0], expected={1: "ann"})
    assert told.summary[1].endswith("ann marked this change as expected.")
    assert not told.mailable
    assert report(BOTH[0]).mailable


@pytest.mark.parametrize("at", [-5, 0, 2, 99])
def test_marks_elsewhere_change_nothing(at: int):
    assert report(*BOTH, expected={at: "ann"}) == report(*BOTH)


def test_a_doubtful_step_is_no_known_one():
    unsure = reports.step(0, 1, -0.2, probability=0.6)
    assert report(unsure, expected={1: "ann"}) == report(unsure)


@pytest.mark.parametrize("render", [report_text, report_html, report_markdown])
def test_each_form_of_a_report_tells_marks_and_known_steps(render):
    text = " ".join(render(report(*BOTH, expected={1: "ann"}, marked=SENTENCES)).split())
    assert "Marks on this series" in text
    assert "marked as noise by ann" in text
    assert "marked as expected by ann" in text
    assert "Marks on" not in render(report(*BOTH))


def test_the_spread_is_told_with_and_without_the_mark():
    marks = [
        Settled(began=7, judged=8, said=Said.NOISE, author="ann"),
        Settled(began=9, judged=9, said=Said.EXPECTED, author="bob"),
        Settled(began=11, judged=11),
    ]
    spread = (NOISE, replace(NOISE, sigma_build=0.008))
    told = describe_marks(marks, {7: "r7", 9: "r9"}, spread, workload="fw", testbed="apu2")
    noise, expected = told
    assert noise.startswith("r7 was marked as noise by ann. The spread of builds of fw on apu2 is")
    assert noise.endswith(" is 0.80 % with it and 0.50 % without it.")
    assert expected == (
        "r9 was marked as expected by bob. Later commits are compared with its level."
    )
