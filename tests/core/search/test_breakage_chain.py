"""The chain of testable and untestable revisions, against plain sums over all that may be so."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.search import Evidence, SearchPolicy
from buildbot_bench.core.search.search_range import BreakageChain, build_range, learn_breakage


def chain(n: int, tried: dict[int, bool]) -> BreakageChain:
    """Of positions that failed (True) or were testable."""
    places = np.array(sorted(tried))
    return learn_breakage(np.arange(n + 1), places, np.array([tried[p] for p in sorted(tried)]))


def by_all_states(one: BreakageChain, n: int) -> dict[tuple[bool, ...], float]:
    """The posterior of each course of states 0..n, by the grid and every course that fits."""
    fits: dict[tuple[bool, ...], float] = {}
    tried = dict(zip(one.tried.tolist(), one.failed.tolist(), strict=True))
    for share, length, weight in zip(one.share, one.length, one.weight, strict=True):
        near = np.exp(-1 / length)
        step = {True: share + (1 - share) * near, False: share * (1 - near)}
        courses = {}
        for states in product((False, True), repeat=n + 1):
            if any(states[p] != failed for p, failed in tried.items()):
                continue
            likely = share if states[0] else 1 - share
            for before, after in pairwise(states):
                likely *= step[before] if after else 1 - step[before]
            courses[states] = likely
        total = sum(courses.values())
        for states, likely in courses.items():
            fits[states] = fits.get(states, 0.0) + weight * likely / total
    return fits


TRIED = st.dictionaries(st.integers(0, 7), st.booleans(), min_size=1, max_size=5).filter(
    lambda tried: any(tried.values())
)


@given(TRIED)
def test_the_belief_is_the_sum_over_all_courses_of_the_chain(tried):
    one = chain(7, tried)
    courses = by_all_states(one, 7)

    assert one.weight.sum() == pytest.approx(1)
    assert sum(courses.values()) == pytest.approx(1)
    untried = np.array([p for p in range(8) if p not in tried], dtype=int)
    for position, believed in zip(untried, one.testable(untried), strict=True):
        slow = sum(p for states, p in courses.items() if not states[position])
        assert believed == pytest.approx(slow, abs=1e-9)


@given(TRIED, st.floats(0.001, 0.999))
def test_what_is_believed_contiguous_is_as_sure_as_asked_for(tried, error):
    one = chain(7, tried)

    pairs = one.contiguous(-1, 8, error)

    held = [
        likely
        for states, likely in by_all_states(one, 7).items()
        if all(all(states[first : last + 1]) for first, last in pairs)
    ]
    assert sum(held) >= 1 - error - 1e-9
    assert all(tried[first] and tried[last] for first, last in pairs)


def not_tried(failed: list[int], n: int = 400) -> tuple[object, object]:
    """The believed and the untried between testable ends."""
    evidence = Evidence(built=frozenset({0, n}), untestable=frozenset(failed))
    return build_range(n, evidence, SearchPolicy()).not_tried(0, n)


def test_a_long_stretch_of_failures_is_believed_and_its_unknown_edges_are_untried():
    believed, untried = not_tried(list(range(100, 301, 10)))

    assert believed == tuple((p + 1, p + 9) for p in range(100, 300, 10))
    assert untried == ((1, 99), (301, 399))


def test_failures_among_testable_revisions_say_little_of_their_neighbours():
    evidence = Evidence(
        built=frozenset(range(0, 401, 4)), untestable=frozenset(range(2, 401, 4)) | {203}
    )

    ground = build_range(400, evidence, SearchPolicy())

    assert ground.not_tried(200, 204) == ((), ((201, 201),))
    assert 0.2 < ground.testable(np.array([201]))[0] < 0.8


def test_a_revision_tried_and_found_testable_parts_a_stretch():
    evidence = Evidence(built=frozenset({0, 15, 40}), untestable=frozenset(range(10, 21, 5)) - {15})

    assert build_range(40, evidence, SearchPolicy()).not_tried(0, 40)[0] == ()
