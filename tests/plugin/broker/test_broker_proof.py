"""Whether the step that a mail would be about stands on enough boots of both sides."""

from __future__ import annotations

from dataclasses import replace

from buildbot_bench.core.search import Answer, Evidence, Measurement, SearchPolicy, Step
from buildbot_bench.plugin.broker.searching import (
    PROOF_ITERATIONS,
    MissingProof,
    lacking_proof,
    stands_on_one_layout,
)

POLICY = SearchPolicy(error=0.01)
DROP = Step(old=3, new=4, effect=-0.1, low=-0.11, high=-0.09, probability=0.999)


def measured(**counts: int) -> Evidence:
    """So many boots at p3, p4, ..."""
    return Evidence(
        measurements=tuple(
            Measurement(position=int(name[1:]), value=1e6)
            for name, count in counts.items()
            for _ in range(count)
        )
    )


def lacking(evidence, *steps, policy=POLICY, most: int = 1000) -> MissingProof | None:
    answer = Answer(steps=steps or (DROP,), reproduced=True, unresolved=(), reason="")
    return lacking_proof(answer, evidence, policy, most=most)


def test_the_old_side_is_proved_first_then_the_new():
    assert lacking(measured(p3=2, p4=1)) == MissingProof(position=3, iterations=3)
    assert lacking(measured(p3=5, p4=1)) == MissingProof(position=4, iterations=4)


def test_a_step_with_enough_boots_of_both_sides_lacks_nothing():
    assert lacking(measured(p3=PROOF_ITERATIONS, p4=PROOF_ITERATIONS)) is None


def test_what_never_varies_is_proved_by_fewer_boots():
    answer = Answer(steps=(DROP,), reproduced=True, unresolved=(), reason="")
    assert lacking_proof(answer, measured(p3=3, p4=3), POLICY, most=9, needed=3) is None


def test_boots_elsewhere_prove_nothing():
    assert lacking(measured(p2=50, p3=5, p5=50)) == MissingProof(position=4, iterations=5)


def test_without_a_step_there_is_nothing_to_prove():
    answer = Answer(steps=(), reproduced=False, unresolved=(), reason="")
    assert lacking_proof(answer, measured(), POLICY, most=1000) is None


def test_a_step_that_is_not_sure_is_not_proved_further():
    assert lacking(measured(), replace(DROP, probability=0.9)) is None


def test_an_improvement_is_mailed_to_nobody_and_needs_no_proof():
    assert lacking(measured(), replace(DROP, effect=0.1)) is None


def test_where_less_is_better_a_rise_is_what_needs_proof():
    policy = SearchPolicy(error=0.01, higher_is_better=False)
    assert lacking(measured(), DROP, policy=policy) is None
    assert lacking(measured(), replace(DROP, effect=0.1), policy=policy) is not None


def test_of_several_steps_the_largest_regression_is_proved():
    larger = replace(DROP, old=7, new=8, effect=-0.3)
    rise = replace(DROP, old=9, new=10, effect=0.5)
    assert lacking(measured(), DROP, larger, rise) == MissingProof(position=7, iterations=5)


def test_no_more_is_asked_for_than_the_search_may_still_have():
    assert lacking(measured(), most=2) == MissingProof(position=3, iterations=2)
    assert lacking(measured(), most=0) is None
    assert lacking(measured(), most=-3) is None


def on_layout(step: Step, *images: int) -> int | None:
    """Asked of a step whose new side was measured by these images."""
    answer = Answer(steps=(step,), reproduced=True, unresolved=(), reason="")
    values = (Measurement(position=step.new, value=1e6, image=image) for image in images)
    return stands_on_one_layout(answer, Evidence(measurements=tuple(values)), POLICY)


def test_a_small_step_of_one_image_may_be_its_layout():
    small = replace(DROP, effect=-0.03)
    assert on_layout(small, 0, 0, 0) == small.new
    assert on_layout(small, 0, 1) is None
    assert on_layout(replace(DROP, effect=-0.25), 0, 0, 0) is None
    assert on_layout(replace(small, probability=0.9), 0) is None
