"""The benchmark's ways of bisecting find what cannot be missed, so that a comparison is fair."""

import numpy as np
import pytest

from benchmarks.search_bounds import fano, genie, lower_bound
from benchmarks.search_cases import CASES
from benchmarks.search_lab import COSTS, Lab, World, iflib, single
from benchmarks.search_learner import learner
from benchmarks.search_peers import PEERS
from benchmarks.search_runs import search
from benchmarks.search_wall import hours
from buildbot_bench.core.search import SearchPolicy

LOUD = World(n=64, steps=single(-0.25), sigma_run=0.002)
POLICY = SearchPolicy(sigma_run=0.002, sigma_build=0.0, claimed=-0.25)


@pytest.mark.parametrize("name", PEERS)
def test_every_way_finds_a_loud_step_most_of_the_time(name):
    labs = [Lab(LOUD, seed) for seed in range(7)]
    right = [PEERS[name](lab) == lab.expected() for lab in labs]
    assert np.mean(right) > 0.5


def test_ours_finds_it_with_fewer_iterations_than_any_that_repeats():
    lab, other = Lab(LOUD, 1), Lab(LOUD, 1)
    answer = search(lab, POLICY, [])
    PEERS["git N=5, t"](other)
    assert {(step.old, step.new) for step in answer.steps} == lab.expected()
    assert lab.iterations < other.iterations / 3


def test_the_genie_keeps_the_bounds():
    rng = np.random.default_rng(0)
    counts = [genie(256, 3.0, rng)[0] for _ in range(50)]
    assert fano(256, 3.0) - 0.5 < np.mean(counts) < 1.3 * fano(256, 3.0)
    assert lower_bound(256, 3.0) == pytest.approx(12.3, abs=0.2)


def test_who_has_to_learn_the_levels_needs_more_than_who_knows_them():
    cold, warm, knowing = (
        np.mean([count(np.random.default_rng(seed)) for seed in range(60)])
        for count in (
            lambda rng: learner(256, 3.0, rng, (0, 0))[0],
            lambda rng: learner(256, 3.0, rng, (100, 100))[0],
            lambda rng: genie(256, 3.0, rng)[0],
        )
    )
    assert knowing < 1.1 * warm < cold
    assert all(learner(64, 10.0, np.random.default_rng(seed), (0, 0))[1] for seed in range(20))


def test_builds_made_ahead_save_hours():
    world = World(n=256, steps=single(-0.05))
    policy = SearchPolicy(sigma_run=0.005, sigma_build=0.0, claimed=-0.05)
    took, right = hours(Lab(world, 3), COSTS, policy)
    assert right
    kept, right = hours(Lab(world, 3), COSTS, policy, kept_every=16)
    assert right
    assert kept < took < 5.0


def test_the_planted_steps_of_the_iflib_range_have_their_signs():
    lab = Lab(World(n=1600, steps=iflib), 0)
    assert [effect > 0 for _, effect in sorted(lab.steps.items())] == [False, True, True, False]


def test_each_case_has_a_name_of_its_own():
    assert len({case.name for case in CASES}) == len(CASES)
