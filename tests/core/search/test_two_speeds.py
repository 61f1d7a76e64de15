"""Images of two speeds: a step competes with them, and further images tell the two apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.worlds.lab import COSTS, Lab, Tail, World
from benchmarks.worlds.ranges import nothing, single
from benchmarks.worlds.runs import searched
from buildbot_bench.core.model import constants
from buildbot_bench.core.search import Evidence, Measure, Measurement, SearchPolicy, plan
from buildbot_bench.core.search.inference import infer
from buildbot_bench.core.search.noise_model import Hypothesis, SearchNoise, read
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.search.two_speeds import of_two_speeds, without_speeds

TOLD = SearchPolicy(sigma_run=0.005, sigma_build=0.002, claimed=-0.04, max_measurements=120)
NOISE = SearchNoise(run=0.005, build=0.002)
LIKELY = Hypothesis(noise=NOISE, weight=0.7)


def measured(levels: list[tuple[int, int, float]]) -> tuple[Measurement, ...]:
    return tuple(
        Measurement(position=position, image=image, value=float(np.exp(level)))
        for position, image, level in levels
    )


def readings_of(levels: list[tuple[int, int, float]], policy: SearchPolicy = TOLD):
    evidence = Evidence(measurements=measured(levels))
    search_range = build_range(64, evidence, policy)
    return search_range, read(search_range, evidence.measurements)


def two_speeds(levels: list[tuple[int, int, float]], policy: SearchPolicy = TOLD) -> float:
    return infer(*readings_of(levels, policy), policy).two_speeds


MIXED = [
    (at, image, -0.04 * ((at + image) % 2)) for at in (0, 16, 31, 32, 33, 64) for image in (0, 1)
]
ONE_STEP = [(at, image, -0.04 * (at > 31)) for at in (0, 16, 31, 32, 33, 64) for image in (0, 1)]


def test_images_that_disagree_everywhere_have_two_speeds_and_those_about_a_step_have_one():
    assert two_speeds(MIXED) > 0.95
    assert two_speeds(ONE_STEP) < 0.01


def test_the_first_step_that_images_show_may_be_two_speeds():
    seen = [(0, 0, 0.0), (64, 0, -0.04), (32, 0, 0.0)]
    assert 0.02 < two_speeds(seen) < 0.5


@pytest.mark.parametrize("change", [{"layout": False}, {"images": False}])
def test_they_are_not_thought_of_where_the_layout_or_further_images_are_out_of_the_question(change):
    assert two_speeds(MIXED, replace(TOLD, **change)) == 0.0


@settings(max_examples=60, deadline=None)
@given(
    distance=st.floats(0.02, 0.09),
    kinds=st.lists(st.booleans(), min_size=4, max_size=12),
    data=st.data(),
)
def test_the_distance_of_two_groups_is_among_those_thought_of(distance, kinds, data):
    kinds[:2] = [False, True]
    noise = data.draw(st.lists(st.floats(-0.003, 0.003), min_size=12, max_size=12))
    levels = [(at, 0, distance * kind + noise[at]) for at, kind in enumerate(kinds)]
    _, readings = readings_of(levels)
    hypotheses = of_two_speeds(readings, TOLD, LIKELY)
    assert any(abs(abs(one.noise.other_offset) - distance) < 0.0061 for one in hypotheses)
    assert 0 < sum(one.weight for one in hypotheses) <= 3 * constants.TWO_SPEEDS
    assert all(
        abs(one.noise.other_offset) <= np.log1p(constants.BEYOND_LAYOUT) for one in hypotheses
    )


@settings(max_examples=40, deadline=None)
@given(offset=st.floats(-0.3, 0.3), order=st.permutations(range(len(MIXED))))
def test_neither_the_unit_nor_the_order_of_what_was_measured_matters(offset, order):
    moved = [(MIXED[k][0], MIXED[k][1], MIXED[k][2] + offset) for k in order]
    assert two_speeds(moved) == pytest.approx(two_speeds(MIXED), abs=1e-6)


def test_readings_without_the_speeds_are_those_of_the_code():
    _, readings = readings_of(MIXED)
    noise = replace(NOISE, other_share=0.5, other_offset=-0.04)
    level = np.full(len(readings.kernels), readings.values.max())
    plain = without_speeds(readings, noise, level)
    assert np.ptp(plain.values) < 1e-6
    assert np.ptp(plain.level_of_image) < 1e-6
    assert without_speeds(readings, NOISE, level) is readings


def test_no_image_is_booted_again_where_images_may_have_two_speeds():
    request = plan(64, Evidence(measurements=measured(MIXED)), COSTS, TOLD)
    taken = {(at, image) for at, image, _ in MIXED}
    assert not isinstance(request, Measure) or (request.position, request.image) not in taken


def test_a_likely_step_that_two_speeds_may_make_waits_for_a_further_image():
    step = [(0, 0, 0.0), (31, 0, 0.0), (32, 0, -0.04), (64, 0, -0.04)]
    more = [(31, 1, 0.003), (32, 1, -0.04), (31, 2, 0.0), (32, 2, -0.037)]
    asked = []
    while isinstance(
        request := plan(64, Evidence(measurements=measured(step + more)), COSTS, TOLD), Measure
    ):
        asked.append((request.position, request.image))
        more.append((*asked[-1], -0.04 * (request.position > 31)))
    assert asked == [(31, 3)]
    assert [(one.old, one.new) for one in request.steps] == [(31, 32)]


def test_half_of_the_images_slow_and_nothing_there_is_seldom_taken_for_a_step():
    world = World(n=64, commits=nothing, sigma_build=0.002, tail=Tail(share=0.5, far=0.04))
    answers = [searched(Lab(world, seed), TOLD)[0] for seed in range(6)]
    assert sum(step.separated for answer in answers for step in answer.steps) == 0


def test_a_step_among_images_of_two_speeds_is_found():
    world = World(n=64, commits=single(-0.08), sigma_build=0.002, tail=Tail(share=0.5, far=0.03))
    policy = replace(TOLD, claimed=-0.08)
    for seed in range(4):
        lab = Lab(world, seed)
        (commit,) = lab.range.steps
        answer = searched(lab, policy)[0]
        assert [(step.old, step.new) for step in answer.steps] == [(commit - 1, commit)]
