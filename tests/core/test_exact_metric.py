"""A metric that counts the same at each boot: no spread, lower is better, and nothing breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from buildbot_bench.core import ministat
from buildbot_bench.core.judge import Alarm, JudgePolicy, Nothing, Suspicion, judge
from buildbot_bench.core.noise import EXACT, learn
from buildbot_bench.core.profile import EXECUTED, Profile, Stack, compare_symbols
from buildbot_bench.core.report import PROOF_ITERATIONS, compose, proof_iterations
from buildbot_bench.core.sample import (
    INSTRUCTIONS_PER_PACKET,
    KNOWN_METRICS,
    PPS,
    Iteration,
    Sample,
)
from buildbot_bench.core.search import Answer, Costs, Evidence, Measurement, SearchPolicy, plan
from tests.fakes import reports

BEFORE, AFTER = 792.453125, 796.453125  # 0.5 % more
POLICY = JudgePolicy(min_effect=0.001)
COSTS = Costs(build_s=2, boot_s=1, run_s=1)


def counted(position: int, *values: float, at_s: float = 0.0) -> Sample:
    """A sample whose boots came one second after the other."""
    return Sample(
        label=f"r{position}",
        position=position,
        metric=INSTRUCTIONS_PER_PACKET,
        iterations=tuple(Iteration(value=v, at_s=at_s + i) for i, v in enumerate(values)),
    )


def history(positions: int) -> list[Sample]:
    return [counted(position, BEFORE, at_s=100.0 * position) for position in range(positions)]


def search(levels, *, untestable=frozenset(), min_effect=0.001):
    """Search over levels that never vary; the answer, and how many boots it took."""
    last = len(levels) - 1
    taken: list[Measurement] = []
    broken: set[int] = set()
    for _ in range(100):
        step = plan(
            last,
            Evidence(
                measurements=tuple(taken),
                untestable=frozenset(broken),
                built=frozenset(m.position for m in taken),
                same_as_previous=frozenset(),
            ),
            COSTS,
            SearchPolicy(
                min_effect=min_effect,
                higher_is_better=False,
                sigma_run=EXACT.sigma_run,
                sigma_build=EXACT.sigma_build,
            ),
        )
        if isinstance(step, Answer):
            return step, len(taken)
        if step.position in untestable:
            broken.add(step.position)
            continue
        value = levels[step.position]
        taken.append(Measurement(position=step.position, value=value, image=step.image))
    raise AssertionError("the search does not end")


def test_the_unit_says_which_way_is_better_and_that_nothing_varies():
    metric = KNOWN_METRICS["instructions/packet"]
    assert not metric.higher_is_better
    assert learn([counted(1, BEFORE)]) == EXACT


def test_one_boot_of_the_same_count_is_no_news():
    assert isinstance(judge(history(8), counted(8, BEFORE, at_s=900), EXACT, POLICY), Nothing)


def test_a_difference_below_the_floor_is_no_news_however_certain():
    hardly_more = counted(8, BEFORE * 1.0004, at_s=900)
    assert isinstance(judge(history(8), hardly_more, EXACT, POLICY), Nothing)


def test_half_a_percent_is_an_alarm_after_one_more_boot_of_each_side():
    past = history(8)
    first = judge(past, counted(8, AFTER, at_s=900), EXACT, POLICY)
    assert isinstance(first, Suspicion)
    assert first.iterations <= 2
    past[first.anchor] = counted(first.anchor, BEFORE, at_s=100.0 * first.anchor)
    again = [counted(first.anchor, BEFORE, at_s=950)]
    verdict = judge([*past, *again], counted(8, AFTER, AFTER, AFTER, at_s=900), EXACT, POLICY)
    assert isinstance(verdict, Alarm)
    assert verdict.direction == "regression"
    assert verdict.effect == pytest.approx(AFTER / BEFORE - 1, rel=1e-3)


def test_fewer_instructions_are_an_improvement():
    again = [counted(7, BEFORE, at_s=950)]
    fewer = counted(8, 700.0, 700.0, 700.0, at_s=900)
    verdict = judge([*history(8), *again], fewer, EXACT, POLICY)
    assert isinstance(verdict, Alarm)
    assert verdict.direction == "improvement"


def test_a_search_names_half_a_percent_across_what_cannot_be_tested():
    levels = [BEFORE] * 70 + [AFTER] * 187
    answer, measured = search(levels, untestable=frozenset(range(120, 140)))
    (step,) = answer.steps
    assert (step.old, step.new) == (69, 70)
    assert step.effect == pytest.approx(AFTER / BEFORE - 1, rel=1e-3)
    assert measured <= 20


def test_a_search_below_its_floor_finds_nothing():
    answer, _ = search([BEFORE] * 5 + [AFTER] * 5, min_effect=0.02)
    assert answer.steps == ()
    assert not answer.reproduced


def test_students_t_of_values_that_do_not_vary():
    differ = ministat.compare([BEFORE] * 3, [AFTER] * 3, confidence=95.0)
    assert (differ.difference, differ.error, differ.significant) == (4.0, 0.0, True)
    same = ministat.compare([BEFORE] * 3, [BEFORE] * 3, confidence=95.0)
    assert (same.difference, same.significant, same.p_value) == (0.0, False, 1.0)


def test_a_report_says_what_a_count_cannot_see_and_doubts_no_missing_spread():
    report = compose(
        range=reports.history(2),
        answer=reports.answer(reports.step(0, 1, AFTER / BEFORE - 1)),
        samples=[counted(0, *[BEFORE] * 3), counted(1, *[AFTER] * 3)],
        setting=replace(reports.SETTING, metric=INSTRUCTIONS_PER_PACKET, min_effect=0.001),
    )
    assert report.headline is not None
    assert report.headline.regression
    (note,) = report.headline.contrast.notes
    assert note.startswith("counted, not timed")
    assert "hardware has the last word" in note
    assert "(where lower is better) rose by 0.5%" in report.summary[0]
    assert "from 792.5 to 796.5 instructions/packet" in report.summary[0]


def test_boots_that_are_all_alike_prove_a_step_as_soon_as_students_t_takes_them():
    assert proof_iterations([counted(0, BEFORE)]) == ministat.MIN_VALUES
    assert proof_iterations([replace(counted(0, BEFORE), metric=PPS)]) == PROOF_ITERATIONS


def capture(event: str, **counts: int) -> Profile:
    stacks = [Stack(frames=(name,), samples=count) for name, count in counts.items()]
    return Profile(stacks=tuple(stacks), event=event)


def test_a_function_that_does_more_takes_nothing_from_the_others_when_all_is_counted():
    old = capture(EXECUTED, route_lookup=100_000, ip_forward=5_000)
    new = capture(EXECUTED, route_lookup=100_000, ip_forward=5_525)
    more, same = compare_symbols(old, new)
    assert (more.name, more.delta, more.beyond_chance) == ("ip_forward", pytest.approx(0.005), True)
    assert (same.name, same.delta, same.beyond_chance) == ("route_lookup", 0.0, False)
    sampled = [replace(each, event="cycles") for each in (old, new)]
    assert all(change.delta for change in compare_symbols(*sampled))
