"""The labs that the search is judged in, and how an answer is held against their truth."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.verdicts import Verdict
from benchmarks.worlds import command, disturbances, judging, ranges
from benchmarks.worlds.dev import DEV_ROWS
from benchmarks.worlds.lab import COSTS, Lab, Tail, World
from benchmarks.worlds.rows import ROWS
from benchmarks.worlds.runs import BY_NAME, SEED, outcome, policy_of, searched
from benchmarks.worlds.table import Figures
from buildbot_bench.core.search import Answer, SearchPolicy, Step

WORLDS = Path(command.__file__).parent
STEP_AT_40 = World(n=100, commits=lambda _, __: ranges.Range(steps={40: -0.04}), sigma_run=1e-6)


def step(old: int, new: int, effect: float = -0.04, probability: float = 0.995) -> Step:
    return Step(old=old, new=new, effect=effect, low=effect, high=effect, probability=probability)


def judge(lab: Lab, *steps: Step, unresolved: tuple[tuple[int, int], ...] = ()):
    answer = Answer(steps=steps, reproduced=True, unresolved=unresolved, reason="")
    return judging.judged(lab, answer, SearchPolicy(), {39: 3, 40: 3}, 0.0)


def test_no_world_knows_a_number_of_the_model():
    asked = {
        (node.module, alias.name)
        for path in WORLDS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("buildbot_bench")
        for alias in node.names
    }
    told = {"Answer", "Costs", "Evidence", "Measurement", "SearchPolicy", "Step"}
    judged = {"plan", "forecast"}
    assert asked <= {("buildbot_bench.core.search", name) for name in told | judged}


def test_the_rows_have_names_of_their_own_and_what_is_judged_is_not_what_is_tuned():
    assert len(BY_NAME) == len(ROWS) + len(DEV_ROWS)
    assert all(row.name.startswith("dev ") for row in DEV_ROWS)
    assert not any(row.name.startswith("dev") for row in ROWS)
    assert command.chosen("") == list(ROWS)
    assert command.chosen("dev ") == command.chosen("dev") == list(DEV_ROWS)
    assert all(row.versus in BY_NAME for row in ROWS if row.versus)


def test_each_image_of_a_position_has_its_own_luck_whatever_was_asked_before():
    world = World(n=10, commits=ranges.nothing, sigma_run=1e-9, sigma_build=0.01)
    lab, other = Lab(world, 7), Lab(world, 7)
    first, second = (lab.measure(4, image).value for image in (0, 1))
    assert abs(np.log(first / second)) > 1e-4
    assert np.isclose(other.measure(4, 1).value, second)
    assert np.isclose(other.measure(4, 0).value, first)
    assert not np.isclose(Lab(world, 8).measure(4, 0).value, first)


def test_boots_are_counted_and_builds_once_for_each_image():
    lab = Lab(STEP_AT_40, 1)
    for image in (0, 0, 1):
        lab.measure(3, image)
    assert (lab.boots, lab.builds) == (3, 2)
    assert lab.clock_s == 2 * COSTS.build_s + 3 * (COSTS.boot_s + COSTS.run_s)


def test_a_build_that_fails_counts_takes_its_time_and_gives_no_value():
    commits = ranges.Range(steps={5: -0.04}, untestable=frozenset({5, 6}))
    lab = Lab(World(n=10, commits=lambda _, __: commits), 1)
    assert lab.measure(5, 0) is None
    assert (lab.boots, lab.builds, len(lab.failed)) == (0, 1, 1)
    assert lab.clock_s == COSTS.build_s
    assert lab.place(5) == (4, 7)


@pytest.mark.parametrize("both_ways", [False, True])
def test_so_many_images_lie_far_off(both_ways):
    tail = Tail(share=0.1, far=0.04, both_ways=both_ways)
    lab = Lab(World(n=3000, commits=ranges.nothing, sigma_run=1e-9, tail=tail), 3)
    values = np.array([lab.measure(position, 0).value for position in range(3001)])
    assert 0.08 < np.mean(np.abs(values - 1) > 0.03) < 0.12
    assert (values.max() > 1.03) == both_ways


def test_a_shift_comes_once_and_stays():
    offset = disturbances.shift_once(0.03, within_h=6)(np.random.default_rng(1))
    seen = [offset(hour * disturbances.HOUR_S) for hour in np.arange(0, 12, 0.1)]
    changes = np.flatnonzero(np.diff(seen))
    assert len(changes) == 1
    assert abs(seen[-1]) == pytest.approx(0.03, rel=0.03)


def test_bad_hours_begin_and_end():
    offset = disturbances.bad_hours(0.02, 0.06)(np.random.default_rng(1))
    seen = np.array([offset(hour * disturbances.HOUR_S) for hour in np.arange(0, 300, 0.05)])
    bad = seen < 0
    assert 0.1 < bad.mean() < 0.4
    assert len(np.unique(seen[bad])) > 20
    assert np.expm1(seen[bad]).min() >= -0.06
    assert np.expm1(seen[bad]).max() <= -0.02


def test_a_walk_wanders_and_a_day_comes_back():
    walks = [disturbances.random_walk(0.01)(np.random.default_rng(k)) for k in range(200)]
    after_9_h = [walk(9 * disturbances.HOUR_S) - walk(0.0) for walk in walks]
    assert np.std(after_9_h) == pytest.approx(0.03, rel=0.2)
    day = disturbances.daily_cycle(0.01)(np.random.default_rng(1))
    assert day(3600.0) == pytest.approx(day(25 * 3600.0))


def test_the_prior_is_half_flat_and_the_culprit_falls_in_its_classes():
    draw = ranges.informed(-0.05, (0.8, 0.18, 0.02), told=True)
    drawn = [draw(np.random.default_rng(seed), 1600) for seed in range(300)]
    assert all(min(one.weights) == pytest.approx(0.5 / 1600) for one in drawn)
    assert all(sum(one.weights) == pytest.approx(1) for one in drawn)
    at = [one.weights[commit - 1] for one in drawn for commit in one.steps]
    assert np.mean(np.array(at) == max(at)) == pytest.approx(0.8, abs=0.08)
    outside = ranges.informed(-0.05, (0.0, 0.0, 1.0), told=True)(np.random.default_rng(1), 1600)
    assert outside.weights[next(iter(outside.steps)) - 1] == min(outside.weights)


def test_a_step_that_is_there_is_right_and_named_and_another_is_wrong():
    lab = Lab(STEP_AT_40, 1)
    right = judge(lab, step(39, 40))
    assert (right.wrong, right.named, right.proved) == (False, True, True)
    beside = judge(lab, step(40, 41))
    assert (beside.wrong, beside.named) == (True, False)
    assert judge(lab, step(39, 40), step(70, 71)).wrong
    assert judge(lab, step(39, 40, effect=0.04)).wrong
    unsure = judge(lab, step(40, 41, probability=0.9))
    assert (unsure.wrong, unsure.named) == (False, False)


def test_less_than_half_of_min_effect_is_no_step():
    small = World(n=100, commits=lambda _, __: ranges.Range(steps={40: -0.009}))
    assert judge(Lab(small, 1), step(39, 40)).wrong
    enough = World(n=100, commits=lambda _, __: ranges.Range(steps={40: -0.011}))
    assert not judge(Lab(enough, 1), step(39, 40)).wrong


def test_a_stretch_may_be_named_by_a_step_or_left_as_a_stretch():
    commits = ranges.Range(steps={40: -0.04}, untestable=frozenset(range(30, 50)))
    lab = Lab(World(n=100, commits=lambda _, __: commits), 1)
    assert judge(lab, step(29, 50)).named
    assert judge(lab, step(27, 53)).named
    assert not judge(lab, step(20, 60)).named
    assert not judge(lab, step(35, 50)).named
    assert judge(lab, unresolved=((29, 50),)).named


def test_a_search_is_followed_to_its_answer_and_the_same_seed_gives_the_same():
    row = BY_NAME["n 256, d 5, noise 0.5 %, min-effect 2 %"]
    done = outcome(row.name, 3)
    assert done.named
    assert not done.wrong
    again = outcome(row.name, 3)
    assert (again.boots, again.builds) == (done.boots, done.builds)
    lab = Lab(row.world, 3)
    _, evidence, _ = searched(lab, policy_of(row, lab))
    assert len(evidence.measurements) == lab.boots == done.boots


def test_a_row_is_held_against_what_is_wanted_and_against_its_like():
    row = BY_NAME["n 1600, d 10, prior informed and wrong"]
    lab = Lab(STEP_AT_40, 1)
    lab.boots = 10
    ours = Figures(row=row, outcomes=tuple(judge(lab, step(39, 40)) for _ in range(5)))
    lab.boots = 8
    base = Figures(row=BY_NAME[row.versus], outcomes=tuple(judge(lab) for _ in range(5)))
    verdicts = ours.verdicts(base)
    assert [verdict for what, verdict in verdicts.items() if what.startswith("boots")] == [
        Verdict.MISSED
    ]
    assert verdicts["named ≥ 90%"] is Verdict.REACHED
    assert "10.0 ±" in ours.text(base)


def test_the_rows_are_printed_and_written(tmp_path, capsys):
    args = ["--only=dev 25 % untestable, culprit inside", "--replicates=1", "--jobs=1"]
    assert command.main([*args, "--seed=5", f"--out={tmp_path}"]) == 0
    assert "boots" in capsys.readouterr().out
    figures = json.loads((tmp_path / "worlds.json").read_text())
    assert figures["seed"] == 5
    assert figures["rows"][0]["searches"][0]["failed"] > 0
    with pytest.raises(SystemExit):
        command.main(["--only=no such row"])


def test_a_drift_that_explains_all_far_better_leaves_hypotheses_without_one():
    """Learning the share of far images weighs again what was likely; here only the drift was."""
    found = outcome("all boots ±3 % from one moment on: -4 %", SEED + 4)
    assert not found.wrong
