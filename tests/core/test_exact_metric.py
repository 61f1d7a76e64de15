"""A metric that counts the same at each boot: no spread, lower is better, and nothing breaks."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from buildbot_bench.core import ministat
from buildbot_bench.core.evidence import policy_of
from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Nothing, Suspicion
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import counted as counts_prior
from buildbot_bench.core.profile.functions import compare_symbols
from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.core.report.compose import compose
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


SCATTERED = (3596.88, 3596.85, 3596.45)  # FreeBSD 13.1, three boots of one image
EVEN = learn([counted(0, *[BEFORE] * 4)])


def search(levels: Sequence[float], **how: Any) -> tuple[Answer, int]:
    """As `searched`, with how many boots it took."""
    answer, taken = searched(levels, **how)
    return answer, len(taken)


def searched(
    levels: Sequence[float],
    *,
    untestable: frozenset[int] = frozenset(),
    across: frozenset[int] = frozenset(),
    min_effect: float = 0.001,
    sigma_run: float = EVEN.sigma_run,
    scatter: float = 0.0,
    seed: int = 0,
) -> tuple[Answer, list[Measurement]]:
    """Search over levels whose boots scatter; the answer, and the boots it took.

    `across` are positions with the kernel of the one before the untestable one before them.
    """
    last = len(levels) - 1
    chance = np.random.default_rng(seed)
    taken: list[Measurement] = []
    broken: set[int] = set()
    for _ in range(100):
        step = plan(
            last,
            Evidence(
                measurements=tuple(taken),
                untestable=frozenset(broken),
                built=frozenset(m.position for m in taken),
                same_across=frozenset(p for p in across if p - 1 in broken),
            ),
            COSTS,
            SearchPolicy(
                min_effect=min_effect,
                higher_is_better=False,
                sigma_run=sigma_run,
                sigma_build=counts_prior().sigma_build,
                images=False,
                layout=False,
                counted=True,
            ),
        )
        if isinstance(step, Answer):
            return step, taken
        if step.position in untestable:
            broken.add(step.position)
            continue
        value = levels[step.position] * (1 + scatter * chance.standard_normal())
        taken.append(Measurement(position=step.position, value=value, image=step.image))
    raise AssertionError("the search does not end")


def test_the_unit_says_which_way_is_better():
    assert not KNOWN_METRICS["instructions/packet"].higher_is_better


def test_how_far_counts_scatter_is_learnt_from_boots_and_no_metric_is_believed_to_have_none():
    unknown = learn([counted(1, BEFORE)])
    assert counts_prior().sigma_run < unknown.sigma_run < 2 * counts_prior().sigma_run
    assert unknown.assumed == ("boots of one image vary by about 0.02 %",)
    assert 0 < EVEN.sigma_run < 3e-5
    scattered = learn([counted(n, *SCATTERED) for n in range(4)])
    assert 1e-4 < scattered.sigma_run < 2.5e-4
    assert not scattered.assumed
    assert not scattered.saturated
    assert {noise.sigma_build for noise in (unknown, EVEN, scattered)} == {
        counts_prior().sigma_build
    }


def test_what_neighbouring_commits_differ_by_is_no_noise():
    levels = [counted(n, *[BEFORE * (1 + 0.0003 * (n % 2))] * 2) for n in range(12)]
    assert learn(levels).sigma_run < 2e-5


def test_one_boot_of_the_same_count_is_no_news():
    assert isinstance(judge(history(8), counted(8, BEFORE, at_s=900), EVEN, POLICY), Nothing)


def test_a_difference_below_the_floor_is_no_news_however_certain():
    hardly_more = counted(8, BEFORE * 1.0004, at_s=900)
    assert isinstance(judge(history(8), hardly_more, EVEN, POLICY), Nothing)


def test_a_tenth_of_a_percent_is_an_alarm_where_boots_scatter_and_scatter_alone_is_none():
    missed = false = 0
    for seed in range(20):
        calm, slower = (judged(effect, 1e-4, seed) for effect in (0.0, 0.001))
        false += isinstance(calm, Alarm)
        missed += not isinstance(slower, Alarm)
    assert (missed, false) == (0, 0)


def judged(effect: float, scatter: float, seed: int) -> object:
    """The verdict on a commit that changes the count so much, once all was measured again."""
    chance = np.random.default_rng(seed)
    boots: dict[int, list[Iteration]] = {}
    clock = 0.0

    def boot(position: int, times: int) -> None:
        nonlocal clock
        for _ in range(times):
            clock += 1.0
            level = BEFORE * (1 + effect * (position == 12))
            value = level * (1 + scatter * chance.standard_normal())
            boots.setdefault(position, []).append(Iteration(value=value, at_s=clock))

    boot(0, 5)
    for position in range(1, 13):
        boot(position, 1)
    for _ in range(8):
        samples = [replace(counted(p), iterations=tuple(taken)) for p, taken in boots.items()]
        history = samples[:-1]
        policy = JudgePolicy(min_effect=0.0005)
        verdict = judge(history, samples[-1], learn(history), policy)
        if not isinstance(verdict, Suspicion):
            return verdict
        for wanted in verdict.remeasure:
            boot(wanted.position, wanted.iterations)
    return verdict


def test_half_a_percent_is_an_alarm_after_one_more_boot_of_each_side():
    past = history(8)
    first = judge(past, counted(8, AFTER, at_s=900), EVEN, POLICY)
    assert isinstance(first, Suspicion)
    assert first.iterations <= 2
    past[first.anchor] = counted(first.anchor, BEFORE, at_s=100.0 * first.anchor)
    again = [counted(first.anchor, BEFORE, at_s=950)]
    verdict = judge([*past, *again], counted(8, AFTER, AFTER, AFTER, at_s=900), EVEN, POLICY)
    assert isinstance(verdict, Alarm)
    assert verdict.direction == "regression"
    assert verdict.effect == pytest.approx(AFTER / BEFORE - 1, rel=1e-3)


def test_fewer_instructions_are_an_improvement():
    again = [counted(7, BEFORE, at_s=950)]
    fewer = counted(8, 700.0, 700.0, 700.0, at_s=900)
    verdict = judge([*history(8), *again], fewer, EVEN, POLICY)
    assert isinstance(verdict, Alarm)
    assert verdict.direction == "improvement"


def test_a_search_names_half_a_percent_across_what_cannot_be_tested():
    levels = [BEFORE] * 70 + [AFTER] * 187
    answer, measured = search(levels, untestable=frozenset(range(120, 140)))
    (step,) = answer.steps
    assert (step.old, step.new) == (69, 70)
    assert step.effect == pytest.approx(AFTER / BEFORE - 1, rel=1e-3)
    assert measured <= 20


@pytest.mark.parametrize("culprit", range(1, 11))
def test_a_tenth_of_a_percent_is_found_in_ten_commits_where_boots_scatter(culprit):
    levels = [3596.5] * culprit + [3596.5 * 1.001] * (11 - culprit)
    for seed in range(3):
        answer, measured = search(
            levels, min_effect=0.0005, sigma_run=1e-4, scatter=1e-4, seed=seed
        )
        assert [(step.old, step.new) for step in answer.steps] == [(culprit - 1, culprit)]
        assert measured <= 20


def test_boots_that_scatter_as_they_always_did_are_no_steps():
    answers = [search([3596.5] * 11, sigma_run=3e-4, scatter=3e-4, seed=seed) for seed in range(30)]
    assert [answer.steps for answer, _ in answers] == [()] * 30
    assert max(measured for _, measured in answers) <= 37


@pytest.mark.parametrize("culprit", [1, 2, 31, 63, 64])
@pytest.mark.parametrize("scatter", [0.0, 2e-5])
def test_of_what_is_counted_a_second_run_confirms_the_first_and_no_third_is_made(culprit, scatter):
    levels = [BEFORE] * culprit + [BEFORE * 1.01] * (65 - culprit)
    answer, taken = searched(levels, min_effect=0.005, sigma_run=3e-5, scatter=scatter)
    assert [(step.old, step.new) for step in answer.steps] == [(culprit - 1, culprit)]
    runs = Counter(one.position for one in taken)
    assert runs[culprit - 1] == runs[culprit] == 2
    assert max(runs.values()) == 2


def test_ends_that_count_the_same_are_each_confirmed_once():
    answer, taken = searched([BEFORE] * 65, min_effect=0.005)
    assert not answer.reproduced
    assert Counter(one.position for one in taken) == {0: 2, 64: 2}


def test_counts_that_do_not_repeat_are_run_as_often_as_others():
    levels = [BEFORE] * 20 + [BEFORE * 1.01] * 45
    for seed in range(5):
        answer, taken = searched(levels, min_effect=0.005, sigma_run=3e-3, scatter=3e-3, seed=seed)
        assert [(step.old, step.new) for step in answer.steps] == [(19, 20)]
        runs = Counter(one.position for one in taken)
        assert max(runs[19], runs[20]) > 2


def test_a_policy_of_counts_asks_for_two_values_and_one_of_what_varies_for_three():
    terms = SearchPolicy(error=0.01, min_effect=0.005)
    of_counts = policy_of(terms, [counted(0, BEFORE)], first=0, images=False)
    of_rates = policy_of(terms, [replace(counted(0, BEFORE), metric=PPS)], first=0, images=False)
    assert (of_counts.values_that_prove, of_rates.values_that_prove) == (2, 3)


def test_one_kernel_on_both_sides_of_an_untestable_commit_is_one_level():
    levels = [BEFORE] * 8 + [AFTER] * 3
    across = {"untestable": frozenset({5}), "across": frozenset({6})}
    answer, _ = search(levels, **across)
    assert [(step.old, step.new) for step in answer.steps] == [(7, 8)]
    assert answer.unresolved == ()


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
    assert note.startswith("this is a count, not a time")
    assert "Confirm it on hardware." in note
    told = "execute 0.5 % more instructions per packet (792.5 → 796.5)."
    assert told in report.summary[0]


@pytest.mark.parametrize(
    ("more", "outcome", "told"),
    [
        ((AFTER, AFTER), "passed", " and all new ones lie above the old ones."),
        ((AFTER, BEFORE), "failed", " and not all new ones lie above the old ones."),
        ((AFTER,), "not made", "The proof needs 2 of each."),
    ],
)
def test_both_sides_of_a_count_are_proved_by_two_values_that_lie_apart(more, outcome, told):
    report = compose(
        range=reports.history(2),
        answer=reports.answer(reports.step(0, 1, AFTER / BEFORE - 1)),
        samples=[counted(0, BEFORE, BEFORE), counted(1, *more)],
        setting=replace(reports.SETTING, metric=INSTRUCTIONS_PER_PACKET, min_effect=0.001),
    )
    (check,) = (check for check in report.checks if check.name == "both sides proved")
    assert check.outcome.value == outcome
    assert check.detail.endswith(told)


def capture(event: str, **counts: int) -> Profile:
    stacks = [Stack(frames=(name,), samples=count) for name, count in counts.items()]
    return Profile(stacks=tuple(stacks), event=event)


def test_a_function_that_does_more_takes_nothing_from_the_others_when_all_is_counted():
    old = capture(EXECUTED, route_lookup=100_000, ip_forward=5_000)
    new = capture(EXECUTED, route_lookup=100_000, ip_forward=5_525)
    more, same = compare_symbols(old, new)
    assert (more.name, more.delta, more.sure) == ("ip_forward", pytest.approx(0.005), True)
    assert (same.name, same.delta, same.sure) == ("route_lookup", 0.0, False)
    sampled = [replace(each, event="cycles") for each in (old, new)]
    assert all(change.delta for change in compare_symbols(*sampled))


def test_counts_of_which_one_side_repeats_wholly_are_compared_without_a_warning():
    # A real search of thirty commits: what valgrind counted of a checksum.
    counts = (
        *((0, 1586627422.0), (29, 2320630617.0), (15, 1586627417.0), (22, 2320630596.0)),
        *((18, 2320630591.0), (16, 1586627405.0), (17, 1586627401.0), (17, 1586627401.0)),
        (18, 2320630572.0),
    )
    taken = [
        Measurement(position=at, value=value, at_s=float(second))
        for second, (at, value) in enumerate(counts)
    ]
    evidence = Evidence(
        measurements=tuple(taken),
        untestable=frozenset(),
        built=frozenset(at for at, _ in counts),
        same_as_previous=frozenset(),
    )
    policy = SearchPolicy(
        higher_is_better=False,
        sigma_run=2.25e-5,
        sigma_build=1e-6,
        far_share=0.0,
        images=False,
        layout=False,
        counted=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = plan(29, evidence, COSTS, policy)
    assert [(step.old, step.new) for step in answer.steps] == [(17, 18)]
