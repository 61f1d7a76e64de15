"""What the judge says, and what it asks for before it says it."""

import math
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.model import (
    Alarm,
    Direction,
    JudgePolicy,
    Nothing,
    Remeasure,
    Suspicion,
    Unfit,
)
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.sample import Iteration, Metric, NoiseClass, Sample
from tests.fakes.judged_farm import Farm

QUIET = Noise(
    sigma_run=0.005,
    sigma_build=0.0005,
    df_run=200.0,
    df_build=100.0,
    far_share=0.004,  # as 150 images teach, none of which was far off
    far_below=0.002,
    far_weight=180.0,
)
LAYOUT = Noise(sigma_run=0.005, sigma_build=0.01, df_run=200.0, df_build=100.0)
INSTRUCTIONS = Metric(
    name="cost", unit="instructions/packet", higher_is_better=False, noise=NoiseClass.EXACT
)
COUNTS = Noise(sigma_run=1e-5, sigma_build=1e-6, df_run=1e12, df_build=1e12)


def step(effect: float, *, at: int) -> Farm:
    """Thirty commits, one boot each, and a change of level at one of them."""
    farm = Farm(noise=QUIET, level=lambda p: math.log1p(effect) if p >= at else 0.0)
    return farm.measured(range(1, 31))


def test_an_unchanged_level_is_nothing() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 31), times=5)
    verdict = farm.look(30)
    assert isinstance(verdict, Nothing)
    assert verdict.comparison is not None


def test_a_drop_is_an_alarm_once_fresh_boots_of_both_sides_show_it() -> None:
    farm = step(-0.05, at=30)
    alarm = farm.settle(30)
    assert isinstance(alarm, Alarm)
    assert alarm.direction == "regression"
    assert alarm.low < -0.05 < alarm.high
    assert alarm.first == 30
    assert alarm.anchor < 30
    fresh_s = farm.boots[30, 0][0].at_s
    for position in (30, alarm.anchor):
        boots = [b for (p, _), its in farm.boots.items() if p == position for b in its]
        assert 3 <= sum(boot.at_s > fresh_s for boot in boots) <= 4  # not five: 5 % are ten sigmas
    assert alarm.comparison is not None
    assert alarm.comparison.significant


def test_the_interval_holds_the_truth_when_the_lab_drifted_since() -> None:
    """All boots of the last hour are 1 % faster, of both sides: history knows nothing of it."""
    clock = [0.0]

    def level(position: int) -> float:
        mood = 0.01 if farm.clock_s > clock[0] else 0.0
        return mood + (math.log1p(-0.05) if position == 30 else 0.0)

    farm = Farm(noise=QUIET, level=level)
    clock[0] = math.inf
    farm.measured(range(1, 30))
    clock[0] = farm.clock_s
    alarm = farm.measured(range(30, 31)).settle(30)
    assert isinstance(alarm, Alarm)
    assert alarm.low < -0.05 < alarm.high
    assert alarm.probability > 0.99


@pytest.mark.parametrize("seed", range(4))
def test_a_lab_that_wandered_as_far_as_the_change_leaves_no_sure_sign(seed: int) -> None:
    """History says -10 %, fresh boots of both sides -6 %, and little is known of the noise."""
    young = replace(QUIET, df_run=8.0, df_build=6.0)
    farm = Farm(noise=young, seed=seed).measured(range(1, 30))
    farm.level = lambda position: -0.045 + (-0.06 if position == 30 else 0.0)
    alarm = farm.measured(range(30, 31), times=3).settle(30)
    assert isinstance(alarm, Alarm)
    assert 0.95 < alarm.probability < 0.995
    assert (alarm.high < 0) is (alarm.probability > 0.975)


def test_the_interval_is_no_wider_than_noise_makes_it_when_nothing_drifts() -> None:
    alarm = step(-0.05, at=30).settle(30)
    assert isinstance(alarm, Alarm)
    assert alarm.high - alarm.low < 0.012


def test_a_rise_is_an_improvement() -> None:
    alarm = step(0.05, at=30).settle(30)
    assert isinstance(alarm, Alarm)
    assert alarm.direction == "improvement"


def test_a_lone_boot_is_repeated_before_anything_is_built_or_rebooted() -> None:
    verdict = step(-0.10, at=30).look(30)
    assert isinstance(verdict, Suspicion)
    assert verdict.remeasure == (Remeasure(position=30, image=0, iterations=2),)
    assert verdict.iterations == 2


def test_one_boot_that_went_wrong_is_no_alarm_and_costs_two_more() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 31))
    farm.boots[30, 0] = [Iteration(value=0.85e6, at_s=farm.clock_s)]
    assert isinstance(farm.settle(30), Nothing)
    assert len(farm.boots[30, 0]) == 3


def test_five_boots_of_a_quarter_less_need_one_round_even_without_history() -> None:
    unknown = Noise(sigma_run=0.03, sigma_build=0.016, df_run=12.0, df_build=8.0)
    farm = Farm(noise=unknown, level=lambda p: math.log(0.75) if p == 2 else 0.0)
    farm.layout = {(1, 0): 0.0, (2, 0): 0.0}
    farm.measured(range(1, 3), times=5)
    assert isinstance(farm.settle(2, images=False), Alarm)
    assert farm.rounds == 1


def test_the_next_commit_is_compared_with_the_new_level() -> None:
    farm = step(-0.05, at=30)
    assert isinstance(farm.settle(30), Alarm)
    for position in range(31, 36):
        farm.boot(position)
        assert isinstance(farm.settle(position), Nothing)


def test_a_drop_missed_at_its_own_commit_is_found_at_the_next_with_an_anchor_before_it() -> None:
    farm = step(-0.02, at=29)  # commit 29 was measured, but nobody asked the judge
    alarm = farm.settle(30)
    assert isinstance(alarm, Alarm)
    assert alarm.first <= 29
    assert alarm.anchor < alarm.first


def test_a_change_of_long_ago_that_nobody_judged_is_history() -> None:
    farm = step(-0.05, at=5)
    farm.boot(30, times=4)
    assert isinstance(farm.look(30), Nothing)


def test_fresh_boots_that_neither_show_nor_deny_a_change_leave_it_open() -> None:
    loud = Noise(sigma_run=0.02, sigma_build=0.0005, df_run=200.0, df_build=100.0)
    farm = Farm(noise=replace(loud, sigma_run=0.0, sigma_build=0.0))
    farm.measured(range(1, 28), times=10)
    farm.level = lambda position: -0.03 if position >= 28 else 0.0
    farm.measured(range(28, 31), times=11)
    farm.level = lambda position: -0.03 if position >= 28 else -0.012  # the lab drifted by that
    farm.boot(27, times=10)
    farm.noise = loud
    farm.policy = JudgePolicy(images=False)
    assert isinstance(farm.look(30), Nothing)
    farm.boot(31, times=3)
    assert isinstance(farm.look(31), Suspicion)


def test_slow_creep_is_found_before_it_ends() -> None:
    farm = Farm(noise=QUIET, level=lambda p: -0.005 * min(max(p - 30, 0), 10))
    farm.measured(range(1, 31))
    for position in range(31, 41):
        farm.boot(position)
        verdict = farm.settle(position)
        if isinstance(verdict, Alarm):
            break
    assert isinstance(verdict, Alarm)
    assert verdict.anchor <= 32


def test_a_change_proven_below_min_effect_is_nothing() -> None:
    farm = step(-0.008, at=30)
    farm.boot(30, times=30)
    assert isinstance(farm.settle(30), Nothing)
    farm.policy = JudgePolicy(min_effect=0.005)
    assert isinstance(farm.settle(30), Alarm)


def test_an_image_that_is_slow_by_its_layout_is_told_from_slow_code_by_another_image() -> None:
    farm = Farm(noise=LAYOUT).measured(range(1, 31))
    farm.layout[31, 0] = -0.035
    farm.boot(31, times=5)
    suspicion = farm.look(31)
    assert isinstance(suspicion, Suspicion)
    assert [(r.position, r.image) for r in suspicion.remeasure] == [(31, 1)]
    assert isinstance(farm.settle(31), Nothing)


CALM_BUILDS = replace(QUIET, sigma_build=0.003)


@pytest.mark.parametrize("seed", range(8))
def test_a_change_of_three_percent_that_one_image_alone_has_is_called_layout(seed: int) -> None:
    farm = Farm(noise=CALM_BUILDS, seed=seed).measured(range(1, 31))
    farm.layout[31, 0] = math.log1p(-0.03)  # ten times what images differ by otherwise
    farm.boot(31, times=5)
    verdict = farm.settle(31)
    assert isinstance(verdict, Nothing)
    assert (
        "is the layout of one image, not the code. In another link order it is " in verdict.reason
    )
    assert {image for position, image in farm.boots if position == 31} == {0, 1, 2}
    farm.boot(32)
    assert isinstance(farm.settle(32), Nothing)


@pytest.mark.parametrize("seed", range(8))
def test_a_change_of_three_percent_that_all_images_have_is_called_real(seed: int) -> None:
    level = math.log1p(-0.03)
    farm = Farm(noise=CALM_BUILDS, seed=seed, level=lambda p: level if p >= 31 else 0.0)
    farm.measured(range(1, 31)).boot(31, times=5)
    alarm = farm.settle(31)
    assert isinstance(alarm, Alarm)
    assert alarm.low < -0.03 < alarm.high
    assert {image for position, image in farm.boots if position == 31} == {0, 1}


def test_three_percent_are_mostly_found_where_images_differ_by_one_and_never_in_one_alone() -> None:
    level = math.log1p(-0.03)
    found, layout = 0, []
    for seed in range(40):
        slow = Farm(noise=LAYOUT, seed=seed, level=lambda p: level if p >= 31 else 0.0)
        slow.measured(range(1, 31)).boot(31, times=5)
        found += isinstance(slow.settle(31), Alarm)
        unlucky = Farm(noise=LAYOUT, seed=seed).measured(range(1, 31))
        unlucky.layout[31, 0] = level
        unlucky.boot(31, times=5)
        layout.append(unlucky.settle(31))
    assert found >= 28
    assert all(isinstance(verdict, Nothing) for verdict in layout)


def test_an_alarm_stands_on_the_more_images_the_more_often_they_are_far_off() -> None:
    level = math.log1p(-0.04)
    images = []
    for share in (0.004, 0.03, 0.1):
        noise = replace(CALM_BUILDS, far_share=share, far_below=share, far_weight=600.0)
        farm = Farm(noise=noise, level=lambda p: level if p >= 31 else 0.0)
        assert isinstance(farm.measured(range(1, 32)).settle(31), Alarm)
        images.append(sum(position == 31 for position, _ in farm.boots))
    assert images == [2, 3, 4]


def test_the_anchor_may_be_the_lucky_one_and_is_built_again() -> None:
    farm = Farm(noise=CALM_BUILDS)
    farm.layout = {(1, 0): math.log1p(-0.04)}
    farm.measured(range(1, 3), times=5)
    assert isinstance(farm.settle(2), Nothing)
    assert (1, 1) in farm.boots


def test_a_level_that_one_revision_alone_showed_is_not_told_to_have_returned() -> None:
    farm = Farm(noise=CALM_BUILDS).measured(range(1, 31))
    farm.layout |= {(31, image): math.log1p(-0.04) for image in range(5)}
    farm.boot(31)
    assert isinstance(farm.settle(31), Alarm)  # all that can be asked says so
    for position in range(32, 40):
        farm.boot(position)
        assert isinstance(farm.settle(position), Nothing)


def test_what_no_layout_does_is_not_linked_in_another_order() -> None:
    farm = step(-0.2, at=30)
    assert isinstance(farm.settle(30), Alarm)
    assert (30, 1) not in farm.boots


def test_without_further_images_layout_ends_the_doubt() -> None:
    farm = Farm(noise=LAYOUT, policy=JudgePolicy(images=False)).measured(range(1, 31))
    farm.layout[31, 0] = -0.035
    farm.boot(31, times=5)
    verdict = farm.look(31)
    assert isinstance(verdict, Nothing)
    assert "suspected" in verdict.reason


def test_what_was_a_lab_that_drifted_is_denied_by_fresh_boots_of_both_sides() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 31))
    farm.level = lambda _position: -0.04  # all kernels are slower today
    farm.boot(31)
    verdict = farm.settle(31)
    assert isinstance(verdict, Nothing)
    assert "Fresh boots of both sides do not show it" in verdict.reason


def test_boots_alone_prove_nothing_where_builds_differ_as_much() -> None:
    farm = Farm(noise=LAYOUT, policy=JudgePolicy(images=False)).measured(range(1, 31))
    farm.layout[31, 0] = -0.025
    farm.boot(31, times=10)
    farm.boot(30, times=10)
    assert isinstance(farm.look(31), Nothing)


def test_five_images_of_a_revision_are_the_most() -> None:
    wild = Noise(sigma_run=0.005, sigma_build=0.02, df_run=200.0, df_build=100.0)
    farm = Farm(noise=wild).measured(range(1, 31))
    farm.layout |= {(31, image): -0.045 for image in range(9)}
    farm.boot(31, times=3)
    farm.settle(31)
    assert [image for position, image in farm.boots if position == 31] == [0, 1, 2, 3, 4]


def test_what_is_little_known_needs_more_than_what_is_well_known() -> None:
    farm = Farm(noise=LAYOUT).measured(range(1, 31))
    farm.layout[31, 0] = -0.11  # beyond luck
    farm.boot(31, times=5)
    well = farm.look(31)
    farm.noise = replace(LAYOUT, df_build=4.0)
    little = farm.look(31)
    assert isinstance(well, Suspicion)
    assert isinstance(little, Suspicion)
    assert well.probability > little.probability
    assert [request.image for request in little.remeasure] == [1]
    assert all(request.image == 0 for request in well.remeasure)


def test_an_image_whose_own_boots_disagree_proves_nothing() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 31))
    farm.boot(29, times=10)
    wrong = (-0.112, -0.006, -0.092, -0.089, -0.006, 0.001)
    farm.boots[30, 0] = [
        Iteration(value=1e6 * math.exp(log), at_s=1000.0 + n) for n, log in enumerate(wrong)
    ]
    assert not isinstance(farm.look(30), Alarm)


def test_boots_asked_for_one_revision_do_not_close_the_case_of_the_one_before() -> None:
    farm = step(-0.04, at=29)
    farm.boot(29, times=6)  # plainly lower, but the judge was not asked
    farm.boots[30, 0] = []
    farm.boot(30, times=6)
    assert isinstance(farm.settle(30), Alarm)


def test_an_alarm_elsewhere_lowers_what_is_needed_here() -> None:
    assert JudgePolicy().evidence_needed == 3000
    seen = JudgePolicy(corroborated=frozenset({"regression"}))
    assert seen.evidence_needed == seen.towards("regression").evidence_needed == 15


def test_an_alarm_elsewhere_in_the_other_direction_speaks_for_nothing() -> None:
    seen = JudgePolicy(corroborated=frozenset({"improvement"}))
    assert seen.towards("regression").evidence_needed == 3000


def test_a_drop_is_believed_sooner_when_another_testbed_fell_and_not_when_it_rose() -> None:
    noise = Noise(sigma_run=0.005, sigma_build=0.008, df_run=100.0, df_build=50.0)

    def needed(direction: Direction | None) -> int:
        agreed = frozenset[Direction]() if direction is None else frozenset({direction})
        boots = 0
        for seed in range(12):
            farm = Farm(
                noise=noise,
                level=lambda p: math.log1p(-0.025) if p >= 30 else 0.0,
                policy=JudgePolicy(corroborated=agreed),
                seed=seed,
            ).measured(range(1, 31))
            farm.settle(30)
            boots += sum(map(len, farm.boots.values()))
        return boots

    alone = needed(None)
    assert needed("improvement") == alone
    assert needed("regression") < alone


def test_more_series_share_the_budget() -> None:
    assert JudgePolicy(series=6).evidence_needed == 6000
    assert JudgePolicy(false_alarms_per_1000=10).evidence_needed == 300


def test_a_drop_from_line_rate_is_an_alarm_all_the_same() -> None:
    """The level is measured, only what lies above it is hidden: the drop is at least so large."""
    saturated = Noise(
        sigma_run=0.0002, sigma_build=0.0002, df_run=100.0, df_build=50.0, saturated=True
    )
    farm = Farm(noise=saturated, level=lambda p: math.log1p(-0.1) if p >= 11 else 0.0)
    assert isinstance(farm.measured(range(1, 12), times=5).settle(11), Alarm)


def test_the_predecessor_is_the_nearest_with_three_values() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 5), times=3).measured(range(5, 8))
    farm.boot(8, times=3)
    comparison = farm.look(8).comparison
    assert comparison is not None
    assert comparison.reference.mean == pytest.approx(
        sum(i.value or 0 for i in farm.boots[4, 0]) / 3
    )


def test_no_predecessor_no_comparison() -> None:
    farm = Farm(noise=QUIET).measured(range(1, 2), times=5)
    verdict = farm.look(1)
    assert isinstance(verdict, Nothing)
    assert verdict.comparison is None
    assert "no earlier sample" in verdict.reason


def test_an_unknown_confidence_is_refused() -> None:
    farm = Farm(noise=QUIET, policy=JudgePolicy(confidence=42)).measured(range(1, 3), times=3)
    with pytest.raises(UsageError, match="42"):
        farm.look(2)


def test_another_epoch_is_unfit_until_something_is_measured_in_it() -> None:
    history, new = Farm(noise=QUIET).measured(range(1, 11), times=3).split(10)
    changed = replace(new, epoch="new NIC")
    verdict = judge(history, changed, QUIET, JudgePolicy())
    assert isinstance(verdict, Unfit)
    assert "n9" in verdict.reason
    again = [*history, replace(history[-1], epoch="new NIC")]
    assert isinstance(judge(again, changed, QUIET, JudgePolicy()), Nothing)


def test_a_sample_without_values_is_unfit() -> None:
    history, new = Farm(noise=QUIET).measured(range(1, 11)).split(10)
    empty = replace(new, iterations=(Iteration(value=None, failure="no data"),))
    assert isinstance(judge(history, empty, QUIET, JudgePolicy()), Unfit)


def test_line_rate_is_unfit_but_a_drop_below_it_is_not() -> None:
    saturated = Noise(
        sigma_run=0.0002, sigma_build=0.0002, df_run=100.0, df_build=50.0, saturated=True
    )
    farm = Farm(noise=saturated).measured(range(1, 11), times=5)
    verdict = farm.look(10)
    assert isinstance(verdict, Unfit)
    assert "line rate" in verdict.reason
    farm.level = lambda p: -0.1 if p == 11 else 0.0
    farm.boot(11, times=5)
    assert isinstance(farm.settle(11), Alarm)


def test_modes_far_apart_are_beyond_use() -> None:
    two = Noise(
        sigma_run=0.13,
        sigma_build=0.01,
        df_run=100.0,
        df_build=50.0,
        modes_apart=0.3,
    )
    verdict = Farm(noise=two).measured(range(1, 11), times=5).look(10)
    assert isinstance(verdict, Unfit)
    assert "two modes" in verdict.reason


def test_a_counted_metric_needs_one_repetition_and_no_t_test() -> None:
    farm = Farm(
        noise=COUNTS, metric=INSTRUCTIONS, level=lambda p: math.log1p(0.03) if p == 6 else 0.0
    )
    farm.layout = {(p, 0): 0.0 for p in range(1, 7)}
    farm.measured(range(1, 7), times=3)
    farm.boots = {  # truly exact
        key: [replace(boot, value=round(boot.value or 0, -1)) for boot in boots]
        for key, boots in farm.boots.items()
    }
    alarm = farm.settle(6)
    assert isinstance(alarm, Alarm)
    assert alarm.direction == "regression"  # more instructions per packet are worse
    assert farm.rounds == 1
    assert isinstance(farm.look(5), Nothing)


def test_a_counted_metric_needs_more_boots_where_it_scatters_as_much_as_its_floor() -> None:
    values = [(p, 812.0 if p < 6 else 845.0) for p in range(1, 7)]
    samples = [
        Sample(
            label=f"n{p}",
            position=p,
            metric=INSTRUCTIONS,
            iterations=tuple(Iteration(value=v, at_s=p * 100.0 + n) for n in range(3)),
        )
        for p, v in values
    ]
    verdict = judge(samples[:-1], samples[-1], COUNTS, JudgePolicy())
    assert isinstance(verdict, Suspicion)
    assert [(r.position < 6, r.iterations) for r in verdict.remeasure] == [(True, 1), (False, 1)]
    scattered = replace(COUNTS, sigma_run=0.007)
    verdict = judge(samples[:-1], samples[-1], scattered, JudgePolicy())
    assert isinstance(verdict, Suspicion)
    assert sorted(r.iterations for r in verdict.remeasure) == [1, 3]


def test_a_doubtful_place_moves_the_anchor_back_and_widens_the_interval() -> None:
    sharp, blurred = step(-0.05, at=28), step(-0.05, at=28)
    for position in range(26, 30):  # as if the fall took four commits
        share = (position - 25) / 5
        blurred.boots[position, 0] = [Iteration(value=1e6 * (1 - 0.05 * share), at_s=1.0)]
    one, other = sharp.settle(30), blurred.settle(30)
    assert isinstance(one, Alarm)
    assert isinstance(other, Alarm)
    assert other.first < one.first
    assert other.high - other.low > one.high - one.low


def test_the_anchor_is_a_typical_image_of_the_last_few() -> None:
    farm = step(-0.05, at=30)
    farm.boots[29, 0] = [Iteration(value=0.985e6, at_s=farm.clock_s)]
    suspicion = farm.look(30)
    assert isinstance(suspicion, Suspicion)
    assert 25 <= suspicion.anchor <= 28


def test_samples_of_other_testbeds_workloads_and_units_are_passed_over() -> None:
    history, new = step(0.0, at=99).split(30)
    strangers = [
        Sample(label="x", position=29, testbed="other", iterations=(Iteration(value=1.0),)),
        Sample(label="x", position=29, workload="other", iterations=(Iteration(value=1.0),)),
        Sample(label="x", position=29, metric=INSTRUCTIONS, iterations=(Iteration(value=1.0),)),
        Sample(label="x", position=31, iterations=(Iteration(value=1.0),)),
    ]
    assert judge([*history, *strangers], new, QUIET, JudgePolicy()) == judge(
        history, new, QUIET, JudgePolicy()
    )


def test_values_that_are_no_measurement_do_no_harm() -> None:
    history, new = step(-0.05, at=30).split(30)
    odd = tuple(Iteration(value=v, at_s=1.0) for v in (0.0, -5.0, math.inf, math.nan))
    spoilt = [replace(s, iterations=(*s.iterations, *odd)) for s in history]
    one = judge(history, new, QUIET, JudgePolicy())
    assert replace(judge(spoilt, new, QUIET, JudgePolicy()), comparison=None) == one


@pytest.mark.parametrize(
    "wrong", [{"min_effect": 0.0}, {"min_effect": 2}, {"false_alarms_per_1000": 0}, {"fresh": 0}]
)
def test_a_policy_without_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        JudgePolicy(**wrong)
