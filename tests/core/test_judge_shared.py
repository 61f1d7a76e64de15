"""The budget of false alarms is shared by e-BH, however many series are judged at a commit."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Nothing, Verdict
from buildbot_bench.core.judge.recorded import (
    Judged,
    Recorded,
    RecordedPoint,
    judge_recorded,
)
from buildbot_bench.core.judge.together import judge_together
from buildbot_bench.core.metric import Metric

ALARM = Alarm(
    comparison=None,
    reason="",
    anchor=0,
    effect=-0.05,
    low=-0.06,
    high=-0.04,
    probability=0.99,
    direction="regression",
    first=1,
    began=1,
)
CALM = Nothing(comparison=None, reason="the change is within the noise")
# A denied change: where more evidence is needed, it may be another verdict.
DENIED = replace(CALM, began=1)
EVIDENCE = st.dictionaries(
    st.integers(0, 30), st.floats(1.0, 1e7, allow_nan=False), min_size=1, max_size=12
)


def alarms(evidence: Mapping[int, float], policy: JudgePolicy) -> set[int]:
    """Those of a judge that looks at the evidence alone."""

    def judged(one: int, together: int) -> Verdict:
        enough = evidence[one] >= replace(policy, together=together).evidence_needed
        return ALARM if enough else DENIED if evidence[one] > 100 else CALM

    found = judge_together(evidence, judged)
    assert found.keys() == evidence.keys()
    return {one for one, verdict in found.items() if verdict is ALARM}


def by_definition(evidence: Mapping[int, float], policy: JudgePolicy) -> set[int]:
    """The rule of e-BH as Wang and Ramdas write it."""
    alpha = policy.false_alarms_per_1000 / 1000
    ordered = sorted(evidence.values(), reverse=True)
    most = max((k for k, e in enumerate(ordered, 1) if k * e >= policy.series / alpha), default=0)
    return {one for one, e in evidence.items() if most and most * e >= policy.series / alpha}


@given(EVIDENCE, st.integers(0, 1000), st.sampled_from((0.5, 1.0, 4.0)))
def test_the_alarms_of_a_commit_are_those_of_e_bh(evidence, others, budget):
    policy = JudgePolicy(series=len(evidence) + others, false_alarms_per_1000=budget)
    assert alarms(evidence, policy) == by_definition(evidence, policy)


@given(EVIDENCE, st.integers(0, 100), st.data())
def test_more_evidence_takes_no_alarm_away_and_more_series_give_none(evidence, others, data):
    policy = JudgePolicy(series=len(evidence) + others)
    stronger = {one: e * data.draw(st.floats(1.0, 100.0)) for one, e in evidence.items()}
    assert alarms(evidence, policy) <= alarms(stronger, policy)
    assert alarms(evidence, replace(policy, series=policy.series + 1)) <= alarms(evidence, policy)


@given(st.lists(st.floats(1.0, 1e7, allow_nan=False), min_size=1, max_size=12), st.randoms())
def test_the_order_of_series_does_not_matter(evidence, draw):
    policy = JudgePolicy(series=len(evidence))
    order = list(range(len(evidence)))
    draw.shuffle(order)
    assert alarms(dict(enumerate(evidence)), policy) == alarms(
        {one: evidence[one] for one in order}, policy
    )


@given(st.floats(1.0, 1e5, allow_nan=False))
def test_one_series_needs_what_it_needs_alone_and_all_together_that(evidence):
    alone = JudgePolicy(series=1)
    assert bool(alarms({0: evidence}, alone)) == (evidence >= alone.evidence_needed)
    many = dict.fromkeys(range(7), evidence)
    assert bool(alarms(many, replace(alone, series=7))) == (evidence >= alone.evidence_needed)


def test_a_calm_series_is_judged_once():
    asked: list[tuple[int, int]] = []

    def judged(one: int, together: int) -> Verdict:
        asked.append((one, together))
        return (CALM, DENIED, ALARM)[one]

    assert judge_together(range(3), judged) == {0: CALM, 1: DENIED, 2: ALARM}
    assert asked == [(0, 3), (1, 3), (2, 3), (1, 1), (2, 1)]
    assert judge_together((), judged) == {}


def test_no_fewer_than_one_alarm_shares_the_budget():
    with pytest.raises(UsageError, match="together 0"):
        JudgePolicy(together=0)


def series(number: int, effect: float, *, prefix: str = "c", revisions: int = 60) -> Recorded:
    """A step at the 40th revision, in 2 % of noise."""
    draw = random.Random(f"{number}")
    return Recorded(
        name=f"value {number}",
        metric=Metric(name="time", unit="ms", higher_is_better=False),
        points=tuple(
            RecordedPoint(
                label=f"{prefix}{n}",
                values=(draw.lognormvariate(math.log1p(effect) * (n >= 40), 0.02),),
            )
            for n in range(revisions)
        ),
    )


def told(found: list[Recorded], policy: JudgePolicy, **earlier) -> dict[str, list[Judged]]:
    verdicts: dict[str, list[Judged]] = {one.name: [] for one in found}
    for number, judged in judge_recorded(found, policy, **earlier):
        verdicts[found[number].name].append(judged)
    return verdicts


def seen(verdicts: dict[str, list[Judged]]) -> set[str]:
    return {n for n, its in verdicts.items() if any(isinstance(v.verdict, Alarm) for v in its)}


def test_changes_of_one_commit_in_many_values_of_a_run_are_seen_together():
    policy = JudgePolicy(series=10**5)  # as if there were many more
    changed = [series(n, 0.05) for n in range(6)]
    together = told(changed, policy)
    assert [one.place for one in together["value 0"]] == sorted(
        one.place for one in together["value 0"]
    )
    alone = set().union(*(seen(told([one], policy)) for one in changed))
    assert alone < seen(together)
    assert told(changed[::-1], policy) == together
    # Other commits of other series are no commits of these.
    strangers = [series(n, 0.05, prefix=f"s{n}-") for n in range(6)]
    assert seen(told(strangers, policy)) == alone


def test_series_that_contradict_each_other_in_the_order_of_commits_are_judged_alone():
    forth = series(1, 0.08)
    back = replace(series(2, 0.08), points=series(2, 0.08).points[::-1])
    policy = JudgePolicy(series=2)
    assert told([forth, back], policy) == {
        **told([forth], policy),
        **told([back], policy),
    }


def test_what_is_known_of_earlier_revisions_is_given_again():
    one = series(1, 0.08)
    policy = JudgePolicy(series=1)
    known = told([one], policy)["value 1"]
    place = known[30].place
    marked = replace(known[30], verdict=replace(CALM, reason="kept"))
    again = told([one], policy, earlier={0: (*known[:30], marked)})["value 1"]
    assert again == [*known[:30], marked, *known[31:]]
    assert again[30].place == place
