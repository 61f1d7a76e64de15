"""What a search does, from the first boot to the answer."""

import pytest
from simulated_lab import COSTS, Lab, search

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.search import (
    Answer,
    Costs,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    meanwhile,
    plan,
    suspects,
)

QUIET = SearchPolicy(sigma_run=0.005, sigma_build=0.0)


def pairs(answer: Answer) -> list[tuple[int, int]]:
    return [(step.old, step.new) for step in answer.steps]


def test_both_ends_are_measured_first():
    lab = Lab(n=200, steps={70: -0.05})
    search(lab, QUIET)
    assert lab.asked[:2] == [(0, 0), (200, 0)]


def test_the_middle_is_built_while_the_ends_are_measured():
    request = plan(200, Evidence(built=frozenset({0, 200})), COSTS, QUIET)
    assert request == Measure(position=0, image=0, prefetch=(100,))


@pytest.mark.parametrize("culprit", [1, 70, 200])
def test_a_step_is_found_with_its_sign_and_size(culprit):
    answer, evidence = search(Lab(n=200, steps={culprit: -0.05}), QUIET)
    assert pairs(answer) == [(culprit - 1, culprit)]
    step = answer.steps[0]
    assert step.low < step.effect < step.high < 0
    assert step.effect == pytest.approx(-0.05, abs=0.01)
    assert step.probability >= 0.99
    assert answer.reproduced
    assert not answer.unresolved
    assert len(evidence.measurements) < 20


def test_a_single_commit_is_confirmed():
    answer, evidence = search(Lab(n=1, steps={1: -0.05}), QUIET)
    assert pairs(answer) == [(0, 1)]
    assert len(evidence.measurements) >= 3


@pytest.mark.parametrize(
    ("levels", "is_higher_better", "slower"),
    [((1.0, 0.984), True, 1), ((0.984, 1.0), True, 0), ((1.0, 0.984), False, 0)],
)
def test_the_slower_side_is_booted_until_no_slow_mode_explains_it(levels, is_higher_better, slower):
    policy = SearchPolicy(
        sigma_run=0.005,
        sigma_build=0.0,
        min_effect=0.01,
        higher_is_better=is_higher_better,
        layout=False,
    )
    boots = {slower: 3, 1 - slower: 12}
    known = [
        Measurement(position=end, value=levels[end] * (1 + 0.002 * (-1) ** boot))
        for end, count in boots.items()
        for boot in range(count)
    ]
    request = plan(1, Evidence(measurements=tuple(known)), COSTS, policy)
    assert isinstance(request, Measure)
    assert request.position == slower
    known.append(Measurement(position=slower, value=levels[slower]))
    assert pairs(plan(1, Evidence(measurements=tuple(known)), COSTS, policy)) == [(0, 1)]


def test_all_steps_of_the_iflib_range_are_found():
    steps = {1: -0.256, 1056: 0.23, 1057: 0.022, 1400: -0.136}
    answer, _ = search(Lab(n=1600, steps=steps, sigma_run=0.0045), QUIET)
    assert pairs(answer) == [(commit - 1, commit) for commit in steps]
    assert [step.effect > 0 for step in answer.steps] == [False, True, True, False]


def test_ends_that_do_not_differ_are_not_reproduced():
    answer, evidence = search(Lab(n=200, steps={}), QUIET)
    assert answer.steps == ()
    assert not answer.reproduced
    assert {m.position for m in evidence.measurements} == {0, 200}
    assert 4 <= len(evidence.measurements) <= 16


def test_culprit_is_found_across_broken_builds():
    broken = frozenset(range(90, 100)) | frozenset(range(105, 125))
    lab = Lab(n=200, steps={102: -0.05}, broken=broken)
    answer, _ = search(lab, QUIET)
    assert pairs(answer) == [(101, 102)]
    assert len(set(lab.asked) & {(p, 0) for p in broken}) < 12


def test_a_culprit_among_untestable_revisions_is_named_as_a_range():
    answer, _ = search(Lab(n=64, steps={31: -0.05}, broken=frozenset({30, 31, 32})), QUIET)
    assert pairs(answer) == [(29, 33)]


def test_an_untestable_end_is_stepped_around():
    lab = Lab(n=64, steps={31: -0.05}, broken=frozenset({0, 1, 64}))
    answer, _ = search(lab, QUIET)
    assert pairs(answer) == [(30, 31)]
    assert answer.unresolved == ((0, 2), (63, 64))


def test_nothing_testable_is_said_so():
    answer = plan(3, Evidence(untestable=frozenset(range(4))), COSTS, QUIET)
    assert isinstance(answer, Answer)
    assert answer.unresolved == ((0, 3),)


def test_a_commit_that_changes_no_byte_is_neither_measured_nor_accused():
    same = frozenset(range(60, 70))
    lab = Lab(n=128, steps={70: -0.05}, same=same)
    answer, _ = search(lab, QUIET)
    assert pairs(answer) == [(69, 70)]
    assert not {position for position, _ in lab.asked} & set(range(61, 69))


def test_a_range_of_identical_kernels_needs_no_measurement():
    answer = plan(5, Evidence(same_as_previous=frozenset(range(1, 6))), COSTS, QUIET)
    assert isinstance(answer, Answer)
    assert not answer.reproduced


def test_images_are_rebuilt_where_they_differ_without_cause():
    lab = Lab(n=64, steps={31: -0.1}, sigma_run=0.008, sigma_build=0.015)
    answer, _ = search(lab, SearchPolicy(sigma_run=0.008, sigma_build=0.015))
    assert pairs(answer) == [(30, 31)]
    assert max(image for _, image in lab.asked) >= 1


def test_images_of_unchanged_code_are_not_called_a_step():
    lab = Lab(n=64, steps={}, sigma_run=0.008, sigma_build=0.015, seed=1)
    answer, _ = search(lab, SearchPolicy(sigma_run=0.008, sigma_build=0.015))
    assert not answer.reproduced
    assert not answer.steps


def test_samples_already_known_are_used():
    lab = Lab(n=256, steps={100: -0.02})
    known = tuple(lab.boot(0) for _ in range(40)) + tuple(lab.boot(256) for _ in range(10))
    answer, evidence = search(lab, QUIET, known)
    assert pairs(answer) == [(99, 100)]
    assert len(evidence.measurements) - len(known) <= 18


def test_the_noise_is_learnt_when_nothing_is_told():
    answer, _ = search(Lab(n=256, steps={100: -0.1}, sigma_run=0.01), SearchPolicy())
    assert pairs(answer) == [(99, 100)]


def test_a_search_that_runs_out_of_measurements_says_what_is_left():
    policy = SearchPolicy(sigma_run=0.005, sigma_build=0.0, max_measurements=6)
    answer, _ = search(Lab(n=256, steps={100: -0.1}), policy)
    assert answer.steps == ()
    assert answer.reproduced
    assert len(answer.unresolved) == 1
    assert answer.unresolved[0][0] < 100 <= answer.unresolved[0][1]


def test_suspects_name_the_interval_that_is_left():
    evidence = Evidence(
        measurements=tuple(
            Measurement(position=p, value=v) for p, v in ((0, 100.0), (64, 90.2), (32, 89.9))
        )
    )
    first = suspects(64, evidence, COSTS, QUIET)[0]
    assert (first.old, first.new) == (0, 32)
    assert first.probability > 0.9
    assert first.effect == pytest.approx(-0.1, abs=0.02)


def test_suspects_are_none_before_both_ends_are_known():
    assert suspects(64, Evidence(), COSTS, QUIET) == ()


@pytest.mark.parametrize(
    ("evidence", "policy"),
    [
        (Evidence(built=frozenset({65})), QUIET),
        (Evidence(measurements=(Measurement(position=-1, value=1.0),)), QUIET),
        (Evidence(), SearchPolicy(weights=(1.0,))),
        (
            Evidence(
                measurements=(
                    Measurement(position=0, value=float("nan")),
                    Measurement(position=64, value=1.0),
                )
            ),
            QUIET,
        ),
    ],
)
def test_evidence_that_cannot_be_is_refused(evidence, policy):
    with pytest.raises(UsageError):
        plan(64, evidence, COSTS, policy)


def test_an_idle_testbed_boots_a_built_image_that_tells_something():
    rows = ((0, 100.0), (64, 98.0), (32, 98.9))
    evidence = Evidence(measurements=tuple(Measurement(position=p, value=v) for p, v in rows))
    request = meanwhile(64, evidence, COSTS, QUIET, pending=((32, 0),))
    assert request is not None
    assert request.position in {0, 64}
    assert request.image == 0
    assert request.prefetch == ()


def test_an_idle_testbed_is_left_alone_when_the_built_images_have_told_all():
    rows = ((0, 100.0), (64, 75.0), (0, 100.1), (64, 75.1))
    evidence = Evidence(measurements=tuple(Measurement(position=p, value=v) for p, v in rows))
    assert meanwhile(64, evidence, COSTS, QUIET, pending=((32, 0),)) is None


def test_more_builders_are_given_more_to_build_ahead():
    costs = Costs(build_s=1200, boot_s=180, run_s=120, builders=4)
    evidence = Evidence(
        measurements=tuple(Measurement(position=p, value=v) for p, v in ((0, 100.0), (64, 90.0)))
    )
    request = plan(64, evidence, costs, QUIET)
    assert isinstance(request, Measure)
    assert request.position == 32
    assert set(request.prefetch[:2]) == {16, 48}
    assert len(set(request.prefetch)) == 4
