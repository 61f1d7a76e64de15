"""What the clocks of a run tell beside its value: one sentence where only one shows a change."""

import random

import pytest

from buildbot_bench.core.metric import RunTimes
from buildbot_bench.core.report.side_levels import disagreement


def side(wall_s, cpu_s, *, noise=0.01, count=8, seed=1):
    source = random.Random(seed)

    def vary(level):
        return level * (1 + source.gauss(0, noise))

    return [
        RunTimes(wall_s=vary(wall_s), user_s=vary(cpu_s) * 0.8, system_s=vary(cpu_s) * 0.2)
        for _ in range(count)
    ]


OLD = side(0.10, 0.05)


@pytest.mark.parametrize(
    ("new", "begins"),
    [
        (side(0.10, 0.05, seed=2), ""),
        (side(0.13, 0.065, seed=2), ""),
        (side(0.13, 0.05, seed=2), "Wall-clock time changes by +29 %"),
        (side(0.10, 0.06, seed=2), "Processor time changes by +2"),
        (side(0.10, 0.0505, seed=2), ""),
        (side(0.13, 0.05, seed=2, count=2), ""),
    ],
    ids=["neither", "both", "wall", "cpu", "below the effect", "too few"],
)
def test_a_sentence_says_where_one_clock_alone_shows_a_change(new, begins):
    said = disagreement(OLD, new, 0.02)
    assert bool(said) == bool(begins)
    assert said.startswith(begins)
    assert not said or said.endswith(" %).")


def test_what_one_clock_does_not_show_is_not_called_equal():
    busy = side(0.10, 0.06, noise=0.2, seed=3)
    steady = [RunTimes(wall_s=one.wall_s, user_s=0.06, system_s=0) for one in busy]
    old = [RunTimes(wall_s=one.wall_s, user_s=one.cpu_s, system_s=0) for one in OLD]
    said = disagreement(old, steady, 0.02)
    assert "of wall-clock time no change of 2 % is shown" in said
