"""What a revision against itself says of comparisons is what these then take."""

import math
import random

import pytest

from buildbot_bench.core.compare.verdict import VerdictTerms, Worse, compare_sides
from buildbot_bench.local.against_itself import sensitivity

TRIALS = 60


def drawn(seed: int, *, images: int, runs: int, run: float, build: float = 0.0, level: float = 1.0):
    """Values by image of one revision whose images lie that far apart."""
    draw = random.Random(seed)
    placed = [level * math.exp(draw.gauss(0, build)) for _ in range(images)]
    return {
        n: [at * math.exp(draw.gauss(0, run)) for _ in range(runs)] for n, at in enumerate(placed)
    }


def cost(found, change: float):
    return next(one for one in found.costs if one.change == change)


@pytest.mark.parametrize("change", [0.05, 0.02, 0.01])
def test_so_many_runs_of_what_is_not_built_show_the_change_half_of_the_time(change):
    found = sensitivity(drawn(1, images=1, runs=40, run=0.01), is_built=False)
    runs = cost(found, change).runs
    terms = VerdictTerms(min_effect=change / 2, layout=False, higher_is_better=True)
    worse = sum(
        isinstance(
            compare_sides(
                drawn(2 * seed, images=1, runs=runs, run=0.01),
                drawn(2 * seed + 1, images=1, runs=runs, run=0.01, level=1 - change),
                None,
                terms,
            ).verdict,
            Worse,
        )
        for seed in range(TRIALS)
    )
    # A half, and three standard errors of it with what estimates of the noise add.
    assert 0.25 * TRIALS <= worse <= 0.9 * TRIALS


def test_images_that_differ_cost_images_and_what_no_number_shows_is_said():
    found = sensitivity(drawn(3, images=4, runs=5, run=0.002, build=0.01), is_built=True)
    assert found.build == pytest.approx(0.01, rel=0.5)
    costs = [cost(found, change) for change in (0.05, 0.02)]
    assert costs[0].images < costs[1].images
    assert cost(found, 0.005).images is None
    assert len(found.between) == 3


def test_one_image_of_a_build_cannot_tell_a_change_from_luck():
    found = sensitivity(drawn(4, images=1, runs=10, run=0.002), is_built=True)
    assert found.build is None
    assert not any(one.runs for one in found.costs)


def test_a_counted_value_tells_everything_at_once():
    found = sensitivity({0: [5.0, 5.0, 5.0]}, is_built=False)
    assert found.run == 0
    assert max(one.runs for one in found.costs) <= 5
