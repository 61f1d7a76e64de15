"""A culprit that slows some boots and not others: shares of boots are compared, not means alone."""

import numpy as np
import pytest

from benchmarks.worlds.lab import Lab, World
from benchmarks.worlds.ranges import single
from benchmarks.worlds.runs import searched
from buildbot_bench.core.search import Answer, Evidence, Measurement, SearchPolicy, suspects
from buildbot_bench.core.search.inference import infer
from buildbot_bench.core.search.noise_model import read
from buildbot_bench.core.search.races import Race, find_race
from buildbot_bench.core.search.search_range import build_range
from tests.core.search.simulated_lab import COSTS

TOLD = SearchPolicy(sigma_run=0.005, sigma_build=0.002, max_measurements=200)
FAST, SLOW = 0.0, -0.12
# (position, image) of each boot in turn, and which of them were slow.
PLACES = ((0, 0), (32, 0), (16, 0), (24, 0))


def race_of(boots: list[tuple[int, int, float]], *, timed: bool = True) -> Race | None:
    rng = np.random.default_rng(3)
    measured = tuple(
        Measurement(
            position=position,
            image=image,
            value=float(np.exp(level + rng.normal(0, 0.003))),
            at_s=600.0 * number if timed else 0.0,
        )
        for number, (position, image, level) in enumerate(boots)
    )
    evidence = Evidence(measurements=measured)
    search_range = build_range(32, evidence, TOLD)
    readings = read(search_range, measured)
    return find_race(search_range, infer(search_range, readings, TOLD), TOLD)


def rounds(slow: set[tuple[int, int]], count: int = 9) -> list[tuple[int, int, float]]:
    """Boots of all places in turn; `slow` has the (position, round) of slow ones."""
    return [
        (position, image, SLOW if (position, turn) in slow else FAST)
        for turn in range(count)
        for position, image in PLACES
    ]


RACE_SINCE_24 = {(24, 1), (24, 4), (24, 6), (32, 0), (32, 3), (32, 5), (32, 8)}


def test_slow_boots_from_one_commit_on_are_a_race_that_begins_there():
    race = race_of(rounds(RACE_SINCE_24))
    assert race is not None
    assert race.probability > 0.99
    assert race.depth == pytest.approx(SLOW, abs=0.01)
    kernels = race.levels.readings.kernels
    assert kernels[int(np.argmax(race.shares.partition.step))] == 16
    before, after = race.shares.levels().mean[[0, -1]]
    assert before < 0.1
    assert 0.25 < after < 0.6


def test_a_step_that_all_boots_show_is_none():
    assert race_of(rounds({(32, turn) for turn in range(9)})) is None


def test_an_hour_in_which_all_boots_are_slow_is_none():
    hour = {(position, turn) for position, _ in PLACES for turn in (4, 5)}
    race = race_of(rounds(hour))
    assert race is not None
    assert race.probability * race.step_probability < 0.01


def test_without_times_a_race_and_a_slow_hour_look_alike():
    assert race_of(rounds(RACE_SINCE_24), timed=False) is None


def test_slow_boots_everywhere_are_no_step():
    slow = {(0, 0), (0, 3), (0, 7), (16, 1), (16, 4), (16, 6), *RACE_SINCE_24}
    race = race_of(rounds(slow))
    assert race is not None
    assert race.step_probability < 0.5


def test_a_search_names_the_commit_of_a_race_with_share_and_depth():
    lab = Lab(World(n=32, commits=single(-0.12), race=0.45), seed=41)
    (culprit,) = lab.range.steps
    answer, evidence, _ = searched(lab, TOLD, Evidence(measurements=lab.alarm()))
    assert isinstance(answer, Answer)
    (step,) = answer.steps
    assert (step.old, step.new) == (culprit - 1, culprit)
    assert step.is_sure(TOLD.error)
    assert step.race is not None
    assert step.race.depth == pytest.approx(-0.12, abs=0.02)
    assert step.race.before < 0.1
    assert 0.2 < step.race.after < 0.7
    assert step.low < 0.45 * -0.12 < step.high
    (likeliest, *_) = suspects(32, evidence, COSTS, TOLD)
    assert (likeliest.old, likeliest.new) == (culprit - 1, culprit)
