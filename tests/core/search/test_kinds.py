"""Searches that boot what others built first, and prove what they say by builds of their own."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from buildbot_bench.core.search import (
    PREBUILT,
    Answer,
    Costs,
    Evidence,
    Measure,
    Measurement,
    SearchPolicy,
    answer_early,
    plan,
    suspects,
)

COSTS = Costs(build_s=900.0, boot_s=120.0, run_s=60.0)
POLICY = SearchPolicy()
N = 200


@dataclass
class TwoKinds:
    """A range whose levels change at `steps`; of `prebuilt` positions there is another kind.

    That kind reads `offset` off, and changes at `theirs` where that is not None.
    """

    steps: dict[int, float]
    prebuilt: frozenset[int] = frozenset(range(0, N + 1, 10))
    theirs: dict[int, float] | None = None
    offset: float = -0.06
    seed: int = 1
    asked: list[Measure] = field(default_factory=list)

    def search(self, evidence: Evidence | None = None) -> Answer:
        """Do what `plan` says until it answers."""
        rng, luck = np.random.default_rng(self.seed), dict[tuple[int, int], float]()
        evidence = replace(evidence or Evidence(), prebuilt=self.prebuilt)
        for at in range(200):
            decided = plan(N, evidence, COSTS, POLICY)
            if isinstance(decided, Answer):
                return decided
            self.asked.append(decided)
            key = (decided.position, decided.image)
            other = decided.image == PREBUILT
            assert not other or decided.position in self.prebuilt
            steps = self.theirs if other and self.theirs is not None else self.steps
            level = sum(math.log1p(e) for at, e in steps.items() if decided.position >= at)
            luck.setdefault(key, rng.normal(0, 0.005) + (self.offset if other else 0))
            value = math.exp(level + luck[key] + rng.normal(0, 0.004))
            measured = Measurement(
                position=decided.position, image=decided.image, value=value, at_s=180.0 * at
            )
            evidence = replace(evidence, measurements=(*evidence.measurements, measured))
        pytest.fail("no answer")

    @property
    def built(self) -> set[tuple[int, int]]:
        """What the search had built."""
        return {(m.position, m.image) for m in self.asked if m.image != PREBUILT}


def places(answer: Answer) -> list[tuple[int, int]]:
    return [(step.old, step.new) for step in answer.steps]


def test_prebuilt_images_come_first_and_own_builds_prove_the_step() -> None:
    world = TwoKinds(steps={87: -0.25})
    answer = world.search()
    assert places(answer) == [(86, 87)]
    assert answer.steps[0].is_sure(POLICY.error)
    first_own = next(k for k, one in enumerate(world.asked) if one.image != PREBUILT)
    assert all(one.image == PREBUILT for one in world.asked[:first_own])
    assert {(86, 0), (87, 0)} <= world.built
    assert {position for position, _ in world.built} <= set(range(80, 91))
    assert len(world.built) <= 6


@pytest.mark.parametrize("culprit", [81, 90])
def test_an_end_for_which_a_prebuilt_image_stood_is_built_before_it_is_named(culprit: int) -> None:
    world = TwoKinds(steps={culprit: -0.25})
    assert places(world.search()) == [(culprit - 1, culprit)]
    assert {(culprit - 1, 0), (culprit, 0)} <= world.built


def test_what_only_the_other_kind_shows_is_not_said() -> None:
    world = TwoKinds(steps={}, theirs={87: -0.25})
    answer = world.search()
    assert (answer.steps, answer.reproduced) == ((), False)
    assert {(0, 0), (N, 0)} <= world.built


def test_what_only_own_builds_show_is_found() -> None:
    world = TwoKinds(steps={87: -0.25}, theirs={})
    assert places(world.search()) == [(86, 87)]


@pytest.mark.parametrize("culprit", [81, 87])
def test_a_revision_that_was_measured_both_ways_spares_a_build(culprit: int) -> None:
    ends = tuple(
        Measurement(position=p, value=v) for p, v in ((0, 1.0), (0, 1.0), (N, 0.75), (N, 0.75))
    )
    world = TwoKinds(steps={culprit: -0.25})
    assert places(world.search(Evidence(measurements=ends))) == [(culprit - 1, culprit)]
    assert ((80, 0) in world.built) is (culprit == 81)
    assert {(culprit - 1, 0), (culprit, 0)} <= world.built


def test_a_small_step_gets_the_images_that_tell_it_from_layout() -> None:
    world = TwoKinds(steps={87: -0.06})
    assert places(world.search()) == [(86, 87)]
    assert {(86, 0), (86, 1), (87, 0), (87, 1)} <= world.built


def test_two_steps_are_each_proved() -> None:
    world = TwoKinds(steps={34: -0.2, 153: 0.3})
    assert places(world.search()) == [(33, 34), (152, 153)]


def test_a_search_that_is_ended_early_finds_nothing_by_prebuilt_images_alone() -> None:
    boots = tuple(
        Measurement(position=p, image=PREBUILT, value=0.75 if p > 80 else 1.0, at_s=float(k))
        for k, p in enumerate((0, N, 80, 90) * 4)
    )
    evidence = Evidence(measurements=boots, prebuilt=frozenset(range(0, N + 1, 10)))
    early = answer_early(N, evidence, COSTS, POLICY, "stopped")
    assert (early.steps, early.unresolved) == ((), ((80, 90),))
    assert suspects(N, evidence, COSTS, POLICY) == ()
    assert isinstance(plan(N, evidence, COSTS, POLICY), Measure)


def test_few_prebuilt_images_are_left_alone() -> None:
    world = TwoKinds(steps={87: -0.25}, prebuilt=frozenset({0, 100, N}))
    assert places(world.search()) == [(86, 87)]
    assert all(one.image != PREBUILT for one in world.asked)
