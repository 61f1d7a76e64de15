"""Of what was stated at a probability, how much was right; and budgets of false alarms."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.calibration import (
    NONE_CHECKED,
    UNKEPT,
    CheckedBy,
    LaterCheck,
    SeriesBudget,
    StatedVerdict,
    VerdictKind,
    calibrate,
    checked_by_boots,
    compared_again,
)
from buildbot_bench.core.json_model import to_json

RIGHT, WRONG = (
    LaterCheck(by=CheckedBy.BOOTS, right=True),
    LaterCheck(by=CheckedBy.PERSON, right=False),
)
SERIES = {"testbed": "apu", "workload": "forwarding", "branch": "main"}

checks = st.lists(
    st.builds(LaterCheck, by=st.sampled_from(CheckedBy), right=st.booleans()),
    max_size=3,
).map(tuple)
verdicts = st.lists(
    st.builds(
        StatedVerdict,
        kind=st.sampled_from(VerdictKind),
        probability=st.floats(0, 1),
        checks=checks,
    ),
    max_size=40,
)


@given(verdicts)
def test_each_verdict_is_in_one_row_and_only_checked_ones_are_right_or_wrong(stated):
    rows = calibrate(stated).rows
    assert sum(row.stated for row in rows) == len(stated)
    assert sum(row.record.judged for row in rows) == sum(bool(one.checks) for one in stated)
    for row in rows:
        own = [one for one in stated if one.kind == row.kind]
        assert row.record.right <= sum(one.right is True for one in own)
        assert all(0 <= number <= row.stated for number in row.by.values())
        assert to_json(row)["words"] == row.words


def test_one_denial_makes_a_verdict_wrong():
    stated = StatedVerdict(kind=VerdictKind.ALARM, probability=0.99, checks=(RIGHT, WRONG))
    assert stated.right is False
    assert StatedVerdict(kind=VerdictKind.ALARM, probability=0.99).right is None


def many(number: int, right: bool, probability: float = 0.995) -> list[StatedVerdict]:
    check = LaterCheck(by=CheckedBy.BOOTS, right=right)
    return [
        StatedVerdict(kind=VerdictKind.CULPRIT, probability=probability, checks=(check,))
    ] * number


def test_the_table_is_told_in_sentences():
    assert calibrate([]).words == NONE_CHECKED
    unchecked = calibrate([StatedVerdict(kind=VerdictKind.ALARM, probability=0.97)])
    assert unchecked.words == NONE_CHECKED
    assert unchecked.rows[0].words == ("Of 1 alarm stated at 95 to 99 % none could be checked yet.")
    assert calibrate(many(41, True)).words == (
        "Of 41 culprits stated at 99 % or more that could be checked, 41 were right; "
        "95 % interval 91 % to 100 %."
    )


def test_fewer_right_than_stated_is_said():
    row = calibrate(many(30, True) + many(10, False)).rows[0]
    assert row.too_sure
    assert row.words.endswith("30 were right; 95 % interval 60 % to 86 %: fewer than stated.")
    assert not calibrate(many(30, True) + many(1, False)).rows[0].too_sure


def test_the_culprits_that_are_stated_surest_come_first():
    rows = calibrate([*many(1, True, 0.5), *many(1, True, 0.93), *many(1, True)]).rows
    assert [(row.least, row.below) for row in rows] == [(0.99, 1.0), (0.9, 0.95), (0.0, 0.9)]


def boots(level: float, images: int = 2, each: int = 5, seed: int = 1) -> dict[int, list[float]]:
    noise = Random(seed)
    return {n: [level * (1 + noise.gauss(0, 0.004)) for _ in range(each)] for n in range(images)}


@pytest.mark.parametrize(
    ("now", "stated", "right"),
    [(0.8e6, -0.2, True), (1.0e6, -0.2, False), (1.2e6, -0.2, False), (0.8e6, 0.2, False)],
)
@pytest.mark.parametrize("layout", [True, False])
def test_later_boots_confirm_or_deny(now, stated, right, layout):
    old, new = boots(1e6, images=6), boots(now, images=6, seed=2)
    found = checked_by_boots(old, new, stated, layout=layout)
    assert found == LaterCheck(by=CheckedBy.BOOTS, right=right)


def test_what_cannot_tell_checks_nothing():
    assert checked_by_boots({}, boots(1e6), -0.2, layout=True) is None
    assert checked_by_boots(boots(1e6, 1, 2), boots(0.8e6, 1, 2), -0.2, layout=True) is None
    # A second image of each side may say otherwise below a tenth.
    assert checked_by_boots(boots(1e6, 1), boots(0.96e6, 1, seed=2), -0.04, layout=True) is None


def test_a_comparison_is_checked_by_those_that_asked_the_same_later():
    asked, other = ("apu", "forwarding", "r1", "r2"), ("other",)
    found = compared_again([(asked, "worse", 0.99), (other, "better", 0.9), (asked, "worse", 0.95)])
    assert [(one.right, one.probability) for one in found] == [
        (True, 0.99),
        (None, 0.9),
        (None, 0.95),
    ]
    found = compared_again([(asked, "worse", 0.99), (asked, "no difference", 0.95)])
    assert [one.right for one in found] == [False, None]


def budget(denied: int, *, judged: int = 400, alarms: int = 0) -> SeriesBudget:
    counts = {"alarms": denied + alarms, "checked": denied, "denied": denied}
    return SeriesBudget(**SERIES, one_in=1000, judged=judged, **counts)


def test_a_series_that_does_not_keep_its_budget_says_so_with_the_odds():
    assert budget(3).words == (
        "The budget is one false alarm in 1,000 commits. Of 3 alarms on 400 judged commits 3 "
        "could be checked, 3 were denied, where the budget allows for 0.4: this series does not "
        "keep it (p=0.0079). Raise min-effect of the testbed, or find what makes its values vary."
    )
    told = budget(1).words
    assert told.endswith("1 was denied, where the budget allows for 0.4. That may be chance.")
    told = budget(0, alarms=2).words
    assert told.endswith("Of 2 alarms on 400 judged commits 0 could be checked, 0 were denied.")
    assert SeriesBudget(**SERIES, one_in=1000).words == ""


@given(st.integers(0, 30), st.integers(0, 100_000))
def test_more_denied_alarms_are_never_likelier_and_more_commits_bear_more(denied, judged):
    one = budget(denied, judged=judged)
    assert one.chance >= budget(denied + 1, judged=judged).chance
    assert one.chance <= budget(denied, judged=judged + 1000).chance + 1e-12
    assert one.kept is (one.chance >= UNKEPT)
