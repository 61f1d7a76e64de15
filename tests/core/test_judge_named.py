"""Many named values of a run: which are judged in full, and how many boots they ask for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.core.judge import together as judging
from buildbot_bench.core.judge.decide import judge_by_history
from buildbot_bench.core.judge.model import Alarm, JudgePolicy, Settled, Suspicion
from buildbot_bench.core.judge.together import deviations, judge_named
from buildbot_bench.core.metric import Metric, NamedRun, NamedRuns, changed_values

VALUES, COMMITS = 60, 30
POLICY = JudgePolicy(series=3 * VALUES)


def runs(*, slowed: int = 0, by: float = 1.05, since: int = COMMITS - 1, seed: int = 1):
    """Three runs of each of 30 commits with half a percent of noise; some values change."""
    draw = np.random.default_rng(seed)
    found = []
    for position in range(COMMITS):
        for boot in range(3):
            values = 100 * np.exp(0.005 * draw.normal(size=VALUES))
            values[:slowed] *= by if position >= since else 1.0
            at_s = 1000.0 * position + boot + 1
            found.append(
                NamedRun(
                    label=f"r{position}",
                    position=position,
                    image=0,
                    epoch="1",
                    at_s=at_s,
                    values=values,
                )
            )
    metrics = tuple(Metric(name=f"v{n}", unit="ns", higher_is_better=False) for n in range(VALUES))
    return NamedRuns(testbed="apu", workload="suite", metrics=metrics, runs=tuple(found))


@pytest.mark.parametrize(("slowed", "by"), [(0, 1.0), (1, 1.05), (7, 1.04), (20, 0.96)])
def test_the_quick_look_leaves_no_value_out_that_the_judge_wants_measured(slowed, by, monkeypatch):
    world = runs(slowed=slowed, by=by)
    quick = judge_named(world, POLICY, {})
    assert set(quick) == {f"v{n}" for n in range(slowed)}
    assert all(isinstance(one, Suspicion) for one in quick.values())
    names = [metric.name for metric in world.metrics]
    monkeypatch.setattr(judging, "_worth_a_look", lambda *_: names)
    assert judge_named(world, POLICY, {}) == quick


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32),
    slowed=st.integers(0, VALUES),
    by=st.floats(0.8, 1.2),
    gone=st.integers(0, VALUES - 1),
    before=st.integers(0, COMMITS - 1),
)
def test_all_values_at_once_have_the_evidence_of_each_alone(seed, slowed, by, gone, before):
    world = runs(slowed=slowed, by=by, since=before, seed=seed)
    for run in world.runs[::7]:
        run.values[gone] = np.nan
    settled = {f"v{n}": [Settled(began=before, judged=before)] for n in range(0, VALUES, 9)}
    together = judging._log_evidence(world, settled, POLICY.min_effect)
    for n in {0, 9, gone, VALUES - 1}:
        its = [replace(run, values=run.values[n : n + 1]) for run in world.runs]
        alone = replace(world, metrics=world.metrics[n : n + 1], runs=tuple(its))
        (evidence,) = judging._log_evidence(alone, settled, POLICY.min_effect)
        assert evidence == together[n]


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), slowed=st.integers(1, 12), by=st.sampled_from([0.9, 1.06, 1.3]))
def test_the_quick_look_and_the_judge_of_each_value_agree_on_plain_changes(seed, slowed, by):
    world = runs(slowed=slowed, by=by, seed=seed)
    quick = judge_named(world, POLICY, {})
    changed = {f"v{n}" for n in range(slowed)}
    assert changed <= set(quick)
    for name in changed:
        n = int(name[1:])
        samples = judging._samples(world, n)
        one_by_one = judge_by_history(samples[:-1], samples[-1], POLICY, ())
        assert quick[name] == one_by_one


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), commits=st.integers(8, 12))
def test_a_large_change_comes_at_its_commit_however_well_others_know_their_noise(seed, commits):
    world = runs(slowed=30, by=1.2, seed=seed)
    young = replace(world, runs=world.runs[-3 * commits :])
    found = judge_named(young, replace(POLICY, images=False), {})
    assert set(found) == {f"v{n}" for n in range(30)}
    assert all(one.effect > 0.15 for one in found.values() if isinstance(one, Suspicion))


def test_a_settled_change_is_looked_at_no_more():
    world = runs(slowed=9, since=20)
    assert len(judge_named(world, POLICY, {})) == 9
    settled = {f"v{n}": [Settled(began=20, judged=20)] for n in range(9)}
    assert judge_named(world, POLICY, settled) == {}


def test_suspected_values_are_judged_again_without_the_others():
    world = runs(slowed=3, by=1.15)
    again = judge_named(world, POLICY, {}, ["v1", "v50", "unknown"])
    assert set(again) == {"v1", "v50"}
    assert not isinstance(again["v50"], Suspicion | Alarm)


def test_a_map_shows_how_far_values_lie_from_their_medians():
    images, cells = deviations(runs(slowed=1, by=1.1))
    assert [image.label for image in images] == [f"r{n}" for n in range(COMMITS)]
    assert cells[0][-1] == pytest.approx(100, abs=12)
    assert max(abs(cell) for row in cells[1:] for cell in row) < 20
    new, old = changed_values(runs(slowed=1, by=1.1), COMMITS - 1)
    first, *_ = new
    assert new[first] / old[first] == pytest.approx(1.1, abs=0.02)
    assert changed_values(runs(), COMMITS) == ({}, {})


def test_a_value_that_is_not_there_is_no_number():
    world = runs()
    gone = world.runs[-1].values
    gone[5] = np.nan
    world.runs[-2].values[5] = world.runs[-3].values[5] = np.nan
    _, cells = deviations(world)
    assert cells[5][-1] is None
    assert "v5" not in judge_named(world, POLICY, {})
