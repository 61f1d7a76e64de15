"""What holds of every search, whatever the range and the noise."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_lab import COSTS, Lab, search

from buildbot_bench.core.search import (
    Answer,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    plan,
)

QUIET = SearchPolicy(sigma_run=0.005, sigma_build=0.0, max_measurements=60)


@st.composite
def labs(draw):
    n = draw(st.integers(1, 60))
    commits = st.integers(1, n)
    return Lab(
        n=n,
        steps=draw(st.dictionaries(commits, st.sampled_from([-0.2, -0.05, 0.1]), max_size=2)),
        broken=frozenset(draw(st.sets(st.integers(0, n), max_size=n // 3))),
        same=frozenset(draw(st.sets(commits, max_size=n // 4))),
        sigma_run=draw(st.sampled_from([0.002, 0.005, 0.02])),
        seed=draw(st.integers(0, 1000)),
    )


@st.composite
def states(draw):
    """A range in the midst of a search, or with samples from elsewhere."""
    n = draw(st.integers(2, 40))
    measured = draw(
        st.lists(
            st.tuples(st.integers(0, n), st.integers(0, 1), st.floats(80.0, 120.0)),
            max_size=12,
        )
    )
    rows = tuple(
        Measurement(position=p, image=i, value=v, at_s=float(k))
        for k, (p, i, v) in enumerate([(0, 0, 100.0), (n, 0, 90.0), *measured])
    )
    return n, Evidence(measurements=rows)


@settings(max_examples=25, deadline=None)
@given(labs())
def test_a_search_ends_and_asks_each_untestable_revision_at_most_once(lab):
    answer, evidence = search(lab, QUIET)
    assert len(evidence.measurements) <= QUIET.max_measurements
    asked = [position for position, _ in lab.asked if position in lab.broken]
    assert len(asked) == len(set(asked))
    for step in answer.steps:
        assert 0 <= step.old < step.new <= lab.n
        assert step.low <= step.effect <= step.high
        assert 0.5 <= step.probability <= 1
    assert all(a.new <= b.old for a, b in zip(answer.steps, answer.steps[1:], strict=False))


@settings(max_examples=25, deadline=None)
@given(states(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(state, random):
    n, evidence = state
    rows = list(evidence.measurements)
    random.shuffle(rows)
    shuffled = replace(evidence, measurements=tuple(rows))
    assert plan(n, shuffled, COSTS, QUIET) == plan(n, evidence, COSTS, QUIET)


@settings(max_examples=25, deadline=None)
@given(states(), st.sampled_from([0.25, 1024.0, 2.0**-20]))
def test_the_unit_does_not_matter(state, factor):
    n, evidence = state
    scaled = replace(
        evidence,
        measurements=tuple(replace(m, value=m.value * factor) for m in evidence.measurements),
    )
    assert _about(plan(n, scaled, COSTS, QUIET)) == _about(plan(n, evidence, COSTS, QUIET))


@pytest.mark.parametrize("seed", range(4))
def test_the_reciprocal_metric_gives_the_same_steps_with_their_signs_flipped(seed):
    steps = {20: -0.1, 44: 0.06}
    policy = replace(QUIET, claimed=-0.1)
    flipped = replace(QUIET, claimed=1 / 0.9 - 1, higher_is_better=False)
    speed, asked = search(Lab(n=64, steps=steps, seed=seed), policy)
    time, asked_again = search(Lab(n=64, steps=steps, seed=seed, power=-1.0), flipped)
    assert [m.position for m in asked.measurements] == [
        m.position for m in asked_again.measurements
    ]
    assert [(s.old, s.new) for s in speed.steps] == [(s.old, s.new) for s in time.steps]
    for one, other in zip(speed.steps, time.steps, strict=True):
        assert other.effect == pytest.approx(1 / (1 + one.effect) - 1, rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_more_evidence_never_makes_it_ask_for_what_is_known(seed):
    lab = Lab(n=128, steps={50: -0.05}, seed=seed)
    answer, evidence = search(lab, QUIET)
    assert isinstance(answer, Answer)
    more = tuple(lab.boot(p) for p in (0, 49, 50, 128) for _ in range(5))
    known = replace(evidence, measurements=(*evidence.measurements, *more))
    again = plan(128, known, COSTS, replace(QUIET, max_measurements=500))
    assert isinstance(again, Answer)
    assert [(s.old, s.new) for s in again.steps] == [(49, 50)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sigma_build", [0.0, 0.007])
def test_neighbouring_steps_are_both_found_whatever_lies_beside_them(seed, sigma_build):
    first = 3 + 11 * seed
    steps = {first: (-1) ** seed * 0.2, first + 1: 0.035 if seed % 3 else -0.035}
    lab = Lab(n=100, steps=steps, seed=seed, sigma_build=sigma_build)
    policy = SearchPolicy(sigma_run=0.005, sigma_build=sigma_build, max_measurements=150)
    answer, _ = search(lab, policy)
    told = {(s.old, s.new) for s in answer.steps}.union(answer.unresolved)
    for commit in steps:
        assert any(old < commit <= new for old, new in told), (commit, answer)


def test_a_search_killed_at_any_moment_goes_on_as_if_nothing_had_happened():
    lab = Lab(n=128, steps={50: -0.05}, seed=3)
    answer, evidence = search(lab, QUIET)
    for count in range(2, len(evidence.measurements)):
        cut = Evidence(
            measurements=evidence.measurements[:count],
            built=frozenset(m.position for m in evidence.measurements[:count]),
        )
        request = plan(128, cut, COSTS, QUIET)
        assert isinstance(request, Measure)
        assert request.position == evidence.measurements[count].position
    assert plan(128, evidence, COSTS, QUIET) == answer


def test_an_exact_metric_is_searched_without_a_repeat_of_every_boot():
    lab = Lab(n=256, steps={77: -0.03}, sigma_run=0.0)
    answer, evidence = search(lab, replace(QUIET, sigma_run=0.0))
    assert [(s.old, s.new) for s in answer.steps] == [(76, 77)]
    assert len(evidence.measurements) <= 14


def test_runs_that_passed_nothing_are_outliers_and_not_a_crash():
    rows = [(0, 100.0), (64, 90.0), (32, 0.0), (32, 90.2), (16, 99.8)]
    evidence = Evidence(measurements=tuple(Measurement(position=p, value=v) for p, v in rows))
    request = plan(64, evidence, COSTS, QUIET)
    assert isinstance(request, Measure)
    assert 16 <= request.position <= 32


def test_weights_draw_the_search_to_the_likelier_commits():
    weights = tuple(100.0 if 40 <= commit <= 44 else 1.0 for commit in range(1, 129))
    evidence = Evidence(
        measurements=tuple(Measurement(position=p, value=v) for p, v in ((0, 100.0), (128, 90.0)))
    )
    request = plan(128, evidence, COSTS, replace(QUIET, weights=weights))
    assert isinstance(request, Measure)
    assert 39 <= request.position <= 44


@pytest.mark.parametrize("seed", range(4))
def test_a_false_claim_does_not_make_a_step(seed):
    answer, _ = search(Lab(n=64, steps={}, seed=seed), replace(QUIET, claimed=-0.05))
    assert not answer.reproduced
    assert not answer.steps


@pytest.mark.parametrize("seed", range(4))
def test_a_claim_with_the_wrong_sign_and_size_does_not_hide_the_step(seed):
    answer, _ = search(Lab(n=64, steps={20: 0.03}, seed=seed), replace(QUIET, claimed=-0.05))
    assert [(s.old, s.new) for s in answer.steps] == [(19, 20)]


@pytest.mark.parametrize("seed", range(3))
def test_a_claim_below_min_effect_is_searched_for_beside_a_larger_step_the_other_way(seed):
    policy = SearchPolicy(claimed=-0.012, sigma_run=0.002, sigma_build=0.0, max_measurements=90)
    answer, _ = search(Lab(n=64, steps={20: 0.05, 44: -0.012}, sigma_run=0.002, seed=seed), policy)
    assert [(s.old, s.new) for s in answer.steps] == [(19, 20), (43, 44)]


def _about(request: Measure | Answer) -> object:
    """The same up to the rounding of the last digits."""
    if isinstance(request, Measure):
        return request
    return [(s.old, s.new, round(s.effect, 6)) for s in request.steps], request.unresolved
