"""What a search will take, forecast by rehearsing it from today's evidence."""

from dataclasses import replace
from functools import cache
from math import log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_lab import COSTS, Lab, search

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search import (
    Costs,
    Evidence,
    Forecast,
    Measurement,
    SearchPolicy,
    forecast,
    plan,
)
from buildbot_bench.core.search.forecast import Rehearsal, quantiles, thinned
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.rehearsal import Course, Question, Timeline, rehearse
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.truths import Truth, truths

POLICY = SearchPolicy(sigma_run=0.005, sigma_build=0.0)


@cache
def of_a_range(n: int, policy: SearchPolicy) -> Forecast:
    """The forecast of a range of which nothing is known yet; several tests compare with it."""
    return forecast(n, COSTS, policy)


def evidence(*rows: tuple[int, float]) -> Evidence:
    return Evidence(
        measurements=tuple(
            Measurement(position=position, value=value, at_s=300.0 * number)
            for number, (position, value) in enumerate(rows)
        )
    )


def drawn(n: int, known: Evidence, policy: SearchPolicy, count: int):
    found = truths(build_range(n, known, policy), known, policy)
    return [truth for _, truth in zip(range(count), found, strict=False)]


def test_nothing_is_needed_when_the_evidence_answers_already():
    lab = Lab(n=64, steps={40: -0.05}, seed=3)
    answer, known = search(lab, replace(POLICY, claimed=-0.05))
    assert answer.steps
    told = forecast(64, COSTS, replace(POLICY, claimed=-0.05), known)
    assert told.iterations == told.images == told.hours == (0.0, 0.0)


def test_the_same_question_has_the_same_answer():
    policy = replace(POLICY, claimed=-0.05)
    assert forecast(64, COSTS, policy) == of_a_range(64, policy)


def test_a_small_min_effect_costs_more_than_a_large_one():
    least, most = (of_a_range(64, replace(POLICY, min_effect=e)) for e in (0.001, 0.5))
    assert least.iterations[0] > 1.3 * most.iterations[0]
    assert least.hours[0] > 1.3 * most.hours[0]


@settings(max_examples=3, deadline=None)
@given(
    n=st.sampled_from([4, 30]),
    sigma=st.sampled_from([0.002, 0.005]),
    noises=st.floats(1.0, 3.0),
)
def test_the_forecast_does_not_rise_with_min_effect(n, sigma, noises):
    policy = SearchPolicy(sigma_run=sigma, sigma_build=0.0, min_effect=noises * sigma)
    coarse = replace(policy, min_effect=8 * policy.min_effect)
    # Both are medians of a few drawn searches, each of its own draws.
    fewer, more = (of_a_range(n, one).iterations[0] for one in (coarse, policy))
    assert fewer <= 1.05 * more


def test_what_was_measured_is_taken_off():
    policy = replace(POLICY, claimed=-0.05)
    whole = of_a_range(256, policy)
    lab = Lab(n=256, steps={100: -0.05}, seed=2)
    rows = [(p, lab.boot(p).value) for p in (0, 256, 0, 256, 128, 64, 96, 112, 104)]
    known = forecast(256, COSTS, policy, evidence(*rows))
    assert known.iterations[0] < whole.iterations[0] - 5
    assert known.images[0] < whole.images[0] - 4
    assert known.hours[0] < whole.hours[0]


def test_where_nothing_is_there_the_ends_take_as_many_boots_as_noise_asks_for():
    policy = SearchPolicy(sigma_run=0.04, sigma_build=0.0, layout=False, images=False)
    rng = np.random.default_rng(1)
    boots = 10
    known = evidence(
        *((64 * (number % 2), float(np.exp(0.04 * rng.normal()))) for number in range(boots))
    )
    left = forecast(64, COSTS, policy, known).iterations[0]
    least = 4 * (1.96 * 0.04 / log1p(policy.sought_effect)) ** 2  # of both ends, at 95 %
    assert least < boots + left < 10 * least


def test_kernels_that_are_built_save_builds():
    policy = replace(POLICY, claimed=-0.05)
    built = Evidence(built=frozenset(range(0, 257, 4)))
    assert forecast(256, COSTS, policy, built).images[0] < of_a_range(256, policy).images[0] - 3


def test_more_builders_take_less_time_and_as_many_boots():
    policy = replace(POLICY, claimed=-0.05)
    assert COSTS.builders == 1
    one, four = of_a_range(1600, policy), forecast(1600, replace(COSTS, builders=4), policy)
    assert four.hours[0] < 0.8 * one.hours[0]
    assert four.iterations[0] == pytest.approx(one.iterations[0], rel=0.1)


def test_the_forecast_grows_with_the_noise_and_the_range():
    quiet = of_a_range(256, SearchPolicy(claimed=-0.05, sigma_run=0.005, sigma_build=0.0))
    noisy = of_a_range(256, SearchPolicy(claimed=-0.05, sigma_run=0.02, sigma_build=0.0))
    longer = of_a_range(1600, SearchPolicy(claimed=-0.05, sigma_run=0.005, sigma_build=0.0))
    assert quiet.iterations[0] < longer.iterations[0] < noisy.iterations[0]
    assert quiet.images[0] < longer.images[0]
    assert all(median <= p90 for median, p90 in (quiet.images, quiet.iterations, quiet.hours))


def test_without_a_claim_the_forecast_allows_for_small_steps_and_for_several():
    noise = SearchPolicy(sigma_run=0.005, sigma_build=0.01)
    claimed = of_a_range(1600, replace(noise, claimed=-0.1))
    unclaimed = of_a_range(1600, noise)
    assert unclaimed.iterations[0] < 1.5 * claimed.iterations[0]
    assert unclaimed.iterations[1] > 1.15 * claimed.iterations[1]


def test_several_steps_that_were_seen_cost_more_than_one():
    policy = SearchPolicy(sigma_run=0.005, sigma_build=0.0)
    ends = [(0, 100.0), (256, 90.0), (0, 100.2), (256, 90.2)]
    one = forecast(256, COSTS, policy, evidence(*ends, (128, 100.1), (192, 90.1)))
    two = forecast(256, COSTS, policy, evidence(*ends, (128, 130.1), (192, 70.1)))
    assert two.iterations[0] > 1.4 * one.iterations[0]


@pytest.mark.parametrize(
    ("steps", "sigma_build"),
    [({40: -0.05}, 0.0), ({40: -0.015}, 0.0), ({40: -0.05}, 0.008)],
)
def test_the_forecast_is_what_searches_take(steps, sigma_build):
    claimed = min(steps.values())
    policy = SearchPolicy(claimed=claimed, sigma_run=0.005, sigma_build=sigma_build)
    labs = [Lab(n=64, steps=steps, sigma_build=sigma_build, seed=seed) for seed in range(12)]
    took = [len(search(lab, policy)[1].measurements) for lab in labs]
    median, nine_of_ten = of_a_range(64, policy).iterations
    assert median == pytest.approx(sorted(took)[6], rel=0.3)
    assert sum(count <= nine_of_ten for count in took) >= 9


def test_a_claim_is_drawn_as_it_was_made_and_mostly_true():
    policy = replace(POLICY, claimed=-0.04)
    changes = [float(t.level[-1] - t.level[0]) for t in drawn(256, Evidence(), policy, 100)]
    assert 0.75 < np.mean([abs(change) > 0.01 for change in changes]) < 0.95
    assert np.median(changes) == pytest.approx(np.log(0.96), rel=0.1)


def test_without_a_claim_sizes_begin_at_min_effect():
    policy = replace(POLICY, min_effect=0.08)
    sizes = [np.abs(np.diff(t.level)).max() for t in drawn(256, Evidence(), policy, 40)]
    assert min(size for size in sizes if size > 0) >= np.log(1.08) - 1e-9


def test_each_kind_of_truth_is_drawn_and_their_shares_add_up():
    claimed = replace(POLICY, claimed=-0.05, sigma_build=0.002)
    for n, kinds in ((2, 5), (256, 5), (1600, 6)):
        first = drawn(n, Evidence(), claimed, kinds)
        assert len({truth.stratum for truth in first}) == kinds
        assert 0.9 < sum(truth.share for truth in first) <= 1 + 1e-9


def test_the_longer_a_range_the_likelier_has_it_further_steps():
    def several(n: int) -> float:
        share = {t.stratum: t.share for t in drawn(n, Evidence(), POLICY, 30) if steps(t) > 1}
        return sum(share.values())

    def steps(truth: Truth) -> int:
        return np.count_nonzero(np.diff(truth.level))

    assert several(1) == 0
    assert 0 < several(256) < several(1600) < several(6000) < 1
    assert max(map(steps, drawn(1600, Evidence(), POLICY, 30))) == 2
    assert max(map(steps, drawn(20000, Evidence(), POLICY, 30))) == 4


def test_a_step_may_hide_beside_one_that_was_seen_and_what_was_read_stays():
    ends = [(0, 100.0), (1600, 90.0), (0, 100.2), (1600, 90.2)]
    seen, hidden = (
        [t for t in drawn(1600, evidence(*ends), POLICY, 12) if t.stratum == which]
        for which in (0, 1)
    )
    assert {np.count_nonzero(np.diff(t.level)) for t in seen} == {1}
    assert {np.count_nonzero(np.diff(t.level)) for t in hidden} == {2}
    assert all(t.level[1600] - t.level[0] == pytest.approx(-0.105, abs=0.03) for t in hidden)
    assert np.mean([t.share for t in seen]) + np.mean([t.share for t in hidden]) == pytest.approx(1)


@pytest.mark.parametrize(("share", "moves"), [(0.02, False), (0.3, True)])
def test_what_is_rare_and_long_moves_what_nine_of_ten_stay_below_only_where_it_is_likely(
    share, moves
):
    def rehearsal(kind: int, boots: float, share: float) -> Rehearsal:
        return Rehearsal(
            truth=Truth(
                level=np.zeros(2),
                noise=SearchNoise(run=0.005, build=0.0),
                kind=kind,
                stratum=kind,
                share=share,
            ),
            course=Course(iterations=boots, images=boots, hours=boots, effort=1.0),
        )

    usual = [rehearsal(0, boots, 1 - share) for boots in (14.0, 15.0, 15.0, 16.0)]
    median, most = quantiles([*usual, rehearsal(1, 60.0, share)], "iterations")
    assert median == pytest.approx(15, rel=0.15)
    assert (most > 40) is moves


def test_what_was_seen_is_where_truths_lie():
    ends = [(0, 100.0), (256, 90.0), (0, 100.2), (256, 90.2), (128, 100.1)]
    for truth in drawn(256, evidence(*ends), POLICY, 20):
        assert truth.level[0] == pytest.approx(np.log(100.1), abs=0.02)
        assert truth.level[128] == pytest.approx(np.log(100.1), abs=0.02)
        assert truth.level[256] == pytest.approx(np.log(90.1), abs=0.02)


def test_a_rehearsal_goes_the_way_of_the_search_itself():
    policy = replace(POLICY, claimed=-0.05)
    first = plan(64, Evidence(), COSTS, policy)
    question = Question(n=64, costs=COSTS, policy=policy, evidence=Evidence(), first=first)
    level = np.where(np.arange(65) < 40, 0.0, np.log(0.95))
    truth = Truth(level=level, noise=SearchNoise(run=1e-5, build=0.0))
    course = rehearse(question, truth, 0)
    lab = Lab(n=64, steps={40: -0.05}, sigma_run=1e-5, seed=0)
    _, known = search(lab, policy)
    assert course.iterations == len(known.measurements)
    assert course.images == len({(m.position, m.image) for m in known.measurements})


def test_thousands_of_boots_are_thinned_and_their_images_stay():
    rows = [(p, 100.0 + k % 3) for p in (0, 50, 64) for k in range(500)]
    few = thinned(evidence(*rows))
    assert {m.position for m in few.measurements} == {0, 50, 64}
    assert len(few.measurements) <= 160
    assert thinned(few) == few


def test_a_build_is_waited_for_and_what_idles_meanwhile_is_not_lost():
    costs = Costs(build_s=1200, boot_s=180, run_s=120)
    clock = Timeline(costs=costs, made={(0, 0)})
    clock.boot((8, 0), ())
    assert (clock.now_s, clock.builds) == (1500, 1)
    clock.boot((0, 0), ())
    assert clock.now_s == 1500
    for _ in range(4):
        clock.boot((0, 0), ())
    assert clock.now_s == 1500 + 300


def test_free_builders_build_ahead():
    costs = Costs(build_s=1200, boot_s=180, run_s=120, builders=2)
    clock = Timeline(costs=costs, made=set())
    clock.boot((8, 0), (4,))
    clock.boot((4, 0), ())
    assert (clock.now_s, clock.builds) == (1800, 2)


def test_evidence_from_elsewhere_is_refused():
    with pytest.raises(UsageError):
        forecast(4, COSTS, POLICY, evidence((9, 1.0)))


def test_a_rehearsal_that_is_cut_short_reckons_with_the_steps_that_are_left():
    n, policy = 1600, SearchPolicy(sigma_run=0.001, sigma_build=0.0)
    commits = range(100, 1450, 150)
    level = np.zeros(n + 1)
    for commit in commits:
        level[commit:] -= 0.06
    first = plan(n, Evidence(), COSTS, policy)
    question = Question(n=n, costs=COSTS, policy=policy, evidence=Evidence(), first=first)
    course = rehearse(question, Truth(level=level, noise=SearchNoise(run=0.001, build=0.0)), 0)
    assert course.iterations > 8 * len(commits)
    assert course.images > 5 * len(commits)
