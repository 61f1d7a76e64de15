"""How often the robot was right, with an interval that holds for few cases."""

import pytest

from buildbot_bench.core.report.compose import harmless
from buildbot_bench.core.report.context import Opinion, TrackRecord, said, so_far


@pytest.mark.parametrize(
    ("right", "wrong", "low", "high"),
    [
        # R's prop.test(right, right + wrong, correct = FALSE)$conf.int
        (0, 0, 0.0, 1.0),
        (1, 0, 0.2065, 1.0),
        (10, 0, 0.7225, 1.0),
        (0, 10, 0.0, 0.2775),
        (11, 1, 0.6461, 0.9851),
        (81, 19, 0.7222, 0.8749),
    ],
)
def test_the_interval_is_wilsons(right, wrong, low, high):
    assert TrackRecord(right=right, wrong=wrong).interval == pytest.approx((low, high), abs=1e-4)


def test_there_is_no_precision_before_somebody_judged():
    assert TrackRecord().precision is None
    assert TrackRecord(right=3, wrong=1).precision == 0.75


def test_the_record_is_a_sentence():
    assert so_far(TrackRecord()).startswith("No report of this farm has been reviewed yet.")
    assert so_far(TrackRecord(right=11, wrong=1)) == (
        "People reviewed 12 reports of this farm: 11 were right (92 %, 95 % interval 65 % to 99 %)."
    )


def test_an_opinion_names_who_said_it_and_harms_nobody():
    hostile = Opinion(kind="fixed", author="\u202eann\n", at_s=1.0, fixed_by="r1\x1b[2J")
    assert "\x1b" not in said(harmless(hostile))
    assert said(Opinion(kind="noise", author="ann", at_s=1.0)) == "ann marked it as noise."
