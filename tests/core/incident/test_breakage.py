"""A branch that stopped building or booting: the first broken commit is found, and cheaply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.incident.breakage import plan_breakage
from buildbot_bench.core.incident.model import (
    MOST_HIDDEN,
    MOST_LOSSES,
    Breakage,
    BreakageEvidence,
    Ending,
    Trial,
    TrialOutcome,
    place_posterior,
)

WORKS, BROKEN, HIDDEN, LOST = (
    TrialOutcome.WORKS,
    TrialOutcome.BROKEN,
    TrialOutcome.HIDDEN,
    TrialOutcome.LOST,
)
FEW = 9  # more trials of both sides, until no race between them is likely


@dataclass
class World:
    """A lab that tries what it is asked to; `truth` says what a revision does."""

    n: int
    truth: Callable[[int], TrialOutcome]
    same: frozenset[int] = frozenset()
    certain: bool = False
    trials: list[Trial] = field(default_factory=list)
    asked: Counter[int] = field(default_factory=Counter)
    ahead: set[int] = field(default_factory=set)

    def known(self, *positions: int) -> World:
        """These were tried before the search began."""
        for position in positions:
            self.trials.append(self._try(position))
        return self

    def _try(self, position: int) -> Trial:
        return Trial(
            position=position,
            outcome=self.truth(position),
            reason=f"panic at {position}",
            certain=self.certain,
            asked_at_s=float(len(self.trials)),
        )

    def search(self) -> Breakage:
        for _ in range(4 * self.n + 40):
            built = frozenset(trial.position for trial in self.trials)
            evidence = BreakageEvidence(
                trials=tuple(self.trials), built=built, same_as_previous=self.same
            )
            plan = plan_breakage(self.n, evidence)
            if isinstance(plan, Breakage):
                return plan
            assert 0 <= plan.position <= self.n
            self.asked[plan.position] += 1
            self.ahead |= set(plan.prefetch)
            self.trials.append(self._try(plan.position))
        raise AssertionError("it never ends")


def since(first: int) -> Callable[[int], TrialOutcome]:
    return lambda position: BROKEN if position >= first else WORKS


@st.composite
def monotone(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.integers(1, 2000))
    return n, draw(st.integers(1, n))


@given(monotone())
def test_the_first_broken_commit_is_found_within_the_logarithm_and_a_few(case):
    n, first = case
    world = World(n, since(first)).known(0, n)
    answer = world.search()
    assert (answer.ending, answer.old, answer.new) == (Ending.BROKEN, first - 1, first)
    assert answer.reason == f"panic at {first}"
    assert sum(world.asked.values()) <= ceil(log2(n)) + FEW


@given(monotone())
def test_a_failure_that_is_certain_is_not_tried_twice(case):
    n, first = case
    world = World(n, since(first), certain=True).known(0, n)
    assert world.search().new == first
    assert world.asked[first] <= (first != n)


@given(monotone(), st.sets(st.integers(0, 2000), max_size=30))
def test_what_is_known_already_is_reused_and_nothing_is_tried_that_it_answers(case, tried):
    n, first = case
    known = {0, n} | {position for position in tried if position <= n}
    world = World(n, since(first)).known(*sorted(known))
    assert world.search().new == first
    # What worked once may have worked by accident: the place may be looked for before it, too.
    assert sum(world.asked.values()) <= ceil(log2(n)) + FEW


@given(monotone())
def test_each_commit_is_tried_once_but_for_the_proof(case):
    n, first = case
    world = World(n, since(first)).known(0, n)
    world.search()
    again = {position for position, times in world.asked.items() if times > 1}
    assert again <= {first - 1, first}


@given(monotone(), st.data())
def test_one_accident_of_a_boot_misleads_nobody(case, data):
    n, first = case
    unlucky = data.draw(st.integers(0, n))
    seen = Counter[int]()

    def truth(position: int) -> TrialOutcome:
        seen[position] += 1
        accident = position == unlucky and seen[position] == 1
        return BROKEN if accident else since(first)(position)

    world = World(n, truth)
    answer = world.search()
    assert (answer.ending, answer.old, answer.new) == (Ending.BROKEN, first - 1, first)


@given(
    st.integers(2, 300).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))
    )
)
def test_of_any_history_the_newest_breakage_that_is_seen_is_told(case):
    n, between = case
    broken = [False, *between, True]
    answer = World(n, lambda p: BROKEN if broken[p] else WORKS).known(0, n).search()
    assert answer.ending is Ending.BROKEN
    assert (broken[answer.old], broken[answer.new]) == (False, True)
    assert answer.new == answer.old + 1


def test_broken_mended_and_broken_again_is_told_as_that():
    broken = {3, 4, 5, 12, 13, 14, 15, 16}
    world = World(16, lambda p: BROKEN if p in broken else WORKS).known(0, 4, 8, 16)
    answer = world.search()
    assert (answer.old, answer.new, answer.before) == (11, 12, 4)


def test_an_accident_before_it_is_no_older_breakage():
    trials = [
        Trial(position=0, outcome=WORKS),
        Trial(position=4, outcome=BROKEN),
        Trial(position=4, outcome=WORKS),
        Trial(position=15, outcome=WORKS, asked_at_s=9.0),
        Trial(position=16, outcome=BROKEN, tries=2),
    ]
    answer = World(16, since(16), trials=trials).search()
    assert (answer.ending, answer.old, answer.before) == (Ending.BROKEN, 15, None)


@given(monotone(), st.data())
def test_commits_with_the_kernel_of_the_one_before_cost_nothing(case, data):
    n, first = case
    same = data.draw(st.sets(st.integers(1, n), max_size=n)) - {first}
    world = World(n, since(first), same=frozenset(same)).known(0, n)
    answer = world.search()
    assert answer.new == first
    kernels = n - len(same)
    assert sum(world.asked.values()) <= ceil(log2(max(kernels, 1))) + FEW + kernels_slack(kernels)


def kernels_slack(kernels: int) -> int:
    """Positions are halved, not kernels: of few kernels the middle one need not be hit."""
    return min(kernels, 8)


@given(
    st.integers(20, 1600).flatmap(
        lambda n: st.tuples(
            st.just(n), st.integers(1, n - 2), st.integers(1, n // 2), st.integers(1, n)
        )
    )
)
def test_a_stretch_that_cannot_be_tried_is_bracketed_by_a_dozen(case):
    n, begin, length, first = case
    hidden = set(range(begin, min(begin + length, n)))

    def truth(position: int) -> TrialOutcome:
        return HIDDEN if position in hidden else since(first)(position)

    world = World(n, truth).known(0, n)
    answer = world.search()
    assert answer.ending is Ending.BROKEN
    assert answer.old < first <= answer.new
    assert sum(world.asked[position] for position in hidden) <= MOST_HIDDEN
    # What can be tried is told apart, unless the stretch itself hides it.
    assert first in hidden or first - 1 in hidden or answer.new == answer.old + 1


def test_what_the_lab_lost_says_nothing_and_is_tried_again():
    seen = Counter[int]()

    def truth(position: int) -> TrialOutcome:
        seen[position] += 1
        return LOST if position == 8 and seen[position] < 3 else since(5)(position)

    assert World(16, truth).known(0, 16).search().new == 5


def test_what_is_always_lost_is_stepped_around():
    world = World(16, lambda p: LOST if p == 8 else since(5)(p)).known(0, 16)
    assert world.search().new == 5
    assert world.asked[8] == MOST_LOSSES


def test_when_the_last_that_worked_fails_now_it_is_the_lab_that_changed():
    world = World(16, lambda _: BROKEN)
    world.trials = [
        Trial(position=0, outcome=WORKS, asked_at_s=-2.0),
        Trial(position=16, outcome=BROKEN, asked_at_s=-1.0),
    ]
    answer = world.search()
    assert answer.ending is Ending.UNPROVEN
    assert answer.detail == "a revision that worked before now fails: panic at 0"


def test_when_the_new_end_works_after_all_nothing_is_broken():
    seen = Counter[int]()

    def truth(position: int) -> TrialOutcome:
        seen[position] += 1
        return BROKEN if position == 1 and seen[1] == 1 else WORKS

    assert World(1, truth).known(0, 1).search().ending is Ending.MENDED


@pytest.mark.parametrize(("builders", "ahead"), [(1, set()), (2, {12}), (3, {12, 4})])
def test_only_builders_that_are_left_over_build_ahead(builders, ahead):
    trials = tuple(
        Trial(position=position, outcome=outcome)
        for position, outcome in ((0, WORKS), (16, BROKEN))
    )
    plan = plan_breakage(16, BreakageEvidence(trials=trials), builders)
    assert not isinstance(plan, Breakage)
    assert (plan.position, set(plan.prefetch)) == (8, ahead)


def test_a_race_is_found_where_the_broken_side_sometimes_works():
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        first = int(rng.integers(1, 33))

        def truth(
            position: int, first: int = first, rng: np.random.Generator = rng
        ) -> TrialOutcome:
            return BROKEN if position >= first and rng.random() < 0.9 else WORKS

        wrong += World(32, truth).search().new != first
    assert wrong <= 1


COUNTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=9)


@given(COUNTS)
def test_the_belief_in_all_places_is_one(counts):
    works, fails = zip(*counts, strict=True)
    posterior = place_posterior(works, fails, [1] * (len(counts) - 1))
    assert posterior.shape == (len(counts) + 1,)
    assert posterior.sum() == pytest.approx(1)


@given(monotone(), st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_does_not_matter(case, order):
    n, first = case
    trials = [
        Trial(position=p, outcome=since(first)(p), asked_at_s=float(p))
        for p in {0, n // 3, n // 2, n}
    ]
    plan = plan_breakage(n, BreakageEvidence(trials=tuple(trials)))
    order.shuffle(trials)
    assert plan_breakage(n, BreakageEvidence(trials=tuple(trials))) == plan


def test_a_work_by_accident_does_not_move_the_place():
    """One boot of four that works after the culprit is a race, not another breakage."""
    works, fails = (4, 4, 1, 0, 0), (0, 0, 3, 4, 4)
    assert place_posterior(works, fails, [1] * 4).argmax() == 2
