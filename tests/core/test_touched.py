"""The prior of a search, by what its commits touch."""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.read_files import FileChange, ReadFiles
from buildbot_bench.core.search import Evidence, SearchPolicy
from buildbot_bench.core.search.search_range import build_range
from buildbot_bench.core.touched import CommitPrior, Touch, commit_prior

READ = ReadFiles(names=frozenset({"sys/a.c", "sys/b.c", "sys/hot.c"}))
RAN = frozenset({"sys/hot.c"})
FILES = {Touch.RUNS: "sys/hot.c", Touch.BUILT: "sys/a.c", Touch.NEITHER: "bin/cat.c"}
TOUCHES = st.lists(st.sampled_from(list(Touch)), min_size=1, max_size=200)


def changes(touches: list[Touch]) -> list[list[FileChange]]:
    return [[FileChange(path=FILES[touch], edited=True)] for touch in touches]


def prior(touches: list[Touch], **known) -> CommitPrior:
    return commit_prior(changes(touches), READ, RAN, **known)


@given(TOUCHES)
def test_each_commit_is_told_by_what_it_touches(touches) -> None:
    assert prior(touches).touches == tuple(touches)


@given(TOUCHES)
def test_the_weights_are_a_distribution(touches) -> None:
    weights = prior(touches).weights
    assert len(weights) == len(touches)
    assert sum(weights) == pytest.approx(1)


@given(TOUCHES, st.data())
def test_a_wrong_prior_costs_one_bit_at_most(touches, data) -> None:
    """Also as the search uses it, which leaves out what is known to be a no-op change."""
    n = len(touches)
    no_ops = data.draw(st.frozensets(st.integers(1, n), max_size=n - 1))
    weights = prior(touches, no_ops=no_ops).weights
    evidence = Evidence(same_as_previous=no_ops)
    informed, flat = (
        build_range(n, evidence, SearchPolicy(weights=given)).prior_cdf for given in (weights, None)
    )
    for place in set(range(1, n + 1)) - no_ops:
        mine, usual = informed[place] - informed[place - 1], flat[place] - flat[place - 1]
        assert log2(usual / mine) <= 1 + 1e-6
        assert weights[place - 1] >= 0.5 / (n - len(no_ops))


@given(TOUCHES)
def test_what_runs_weighs_most_and_what_is_not_built_least(touches) -> None:
    found = dict(zip(touches, prior(touches).weights, strict=True))
    ordered = [found[touch] for touch in Touch if touch in found]
    assert ordered == sorted(ordered, reverse=True)


@given(TOUCHES)
def test_equal_commits_weigh_the_same(touches) -> None:
    assert len(set(zip(touches, prior(touches).weights, strict=True))) == len(set(touches))


def test_eighty_to_eighteen_of_half_the_prior_goes_to_what_runs_and_to_what_is_built() -> None:
    touches = [Touch.RUNS] * 5 + [Touch.BUILT] * 20 + [Touch.NEITHER] * 75
    runs, built, neither = prior(touches).classes
    assert [runs.commits, built.commits, neither.commits] == [5, 20, 75]
    assert runs.share == pytest.approx(0.025 + 0.5 * 80 / 98)
    assert built.share == pytest.approx(0.1 + 0.5 * 18 / 98)
    assert neither.share == pytest.approx(0.375)


def test_nothing_known_of_what_runs_leaves_what_is_built() -> None:
    touches = [Touch.RUNS, Touch.BUILT, Touch.NEITHER, Touch.NEITHER]
    found = commit_prior(changes(touches), READ)
    assert [one.touch for one in found.classes] == [Touch.BUILT, Touch.NEITHER]
    assert found.weights == (0.375, 0.375, 0.125, 0.125)


@pytest.mark.parametrize("touch", [Touch.RUNS, Touch.BUILT, Touch.NEITHER])
def test_a_prior_that_tells_no_commits_apart_is_flat(touch: Touch) -> None:
    assert prior([touch] * 4).weights == (0.25,) * 4


def test_a_range_of_no_op_changes_has_no_culprit() -> None:
    assert prior([Touch.BUILT, Touch.RUNS], no_ops={1, 2}).weights == (0, 0)


def test_a_range_without_commits_has_no_weights() -> None:
    assert prior([]).weights == ()
