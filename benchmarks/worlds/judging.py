"""The verdict whether an answer is right, by the truth of its lab."""

from dataclasses import dataclass

from benchmarks.worlds.lab import Lab
from buildbot_bench.core.search import Answer, SearchPolicy, Step

SURE = 0.99
_ROUNDED = 1e-9  # 1 - .01 is less than .99 by a bit
_VALUES = 3  # of each side of a step that counts as proved
# A bracket of an untestable stretch may leave so many of its testable neighbours inside.
_LOOSE = 8


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One search: what it took and what its answer is worth.

    `wrong`: it states a step at 99 % that is not there, or calls untestable what builds. `named`:
    it states the place of the largest true step (None: there is none). `proved`: it states all,
    with three values of each side.
    `sloped`: it says that a stretch is a slope, and it is; `false_slope`: one that is none.
    `steps` counts those stated; one that is not separated from layout is not.
    """

    boots: int
    builds: int
    failed: int
    wrong: bool
    named: bool | None
    proved: bool
    sloped: bool
    false_slope: bool
    steps: int
    reason: str
    plan_s: float


def judged(
    lab: Lab, answer: Answer, policy: SearchPolicy, values: dict[int, int], plan_s: float
) -> Outcome:
    """The outcome; `values` are how many each position has."""
    stated = [s for s in answer.steps if s.probability >= SURE - _ROUNDED and s.separated]
    slopes = [lab.effect(slope.whole.old, slope.whole.new) for slope in answer.slopes]
    there = [abs(effect) >= policy.min_effect / 2 for effect in slopes]
    true = lab.range.steps
    largest = max(true, key=lambda commit: abs(true[commit]), default=None)
    proved = [
        any(is_named(lab, commit, (s.old, s.new)) and _is_proved(s, values) for s in stated)
        for commit in true
    ]
    return Outcome(
        boots=lab.boots,
        builds=lab.builds,
        failed=len(lab.failed),
        wrong=any(
            is_wrong(lab, step, policy.min_effect) or claims_too_much(lab, step, values)
            for step in stated
        ),
        named=None if largest is None else _names(lab, largest, answer, stated),
        proved=all(proved),
        sloped=any(there),
        false_slope=not all(there),
        steps=len(stated),
        reason=answer.reason,
        plan_s=plan_s,
    )


def is_wrong(lab: Lab, step: Step, min_effect: float) -> bool:
    """Whether less than half of min_effect happens in (old, new], or it goes the other way."""
    effect = lab.effect(step.old, step.new)
    return abs(effect) < min_effect / 2 or (effect > 0) != (step.effect > 0)


def claims_too_much(lab: Lab, step: Step, values: dict[int, int]) -> bool:
    """Whether a step calls untestable what builds; what it says is untried it does not call so."""
    untried = {p for first, last in step.untried for p in range(first, last + 1)}
    return not set(range(step.old + 1, step.new)) <= untried | lab.range.untestable | values.keys()


def is_named(lab: Lab, commit: int, place: tuple[int, int]) -> bool:
    """Whether a place is a commit's: exactly, or about the stretch that hides it."""
    old, new = lab.place(commit)
    if place == (old, new):
        return True
    hidden = new > old + 1
    holds = place[0] <= old and place[1] >= new
    return hidden and holds and (old - place[0]) + (place[1] - new) <= _LOOSE


def _names(lab: Lab, commit: int, answer: Answer, stated: list[Step]) -> bool:
    """A stretch that is left unresolved names what no build can tell apart."""
    places = [(step.old, step.new) for step in stated]
    old, new = lab.place(commit)
    if new > old + 1:
        places += answer.unresolved
    return any(is_named(lab, commit, place) for place in places)


def _is_proved(step: Step, values: dict[int, int]) -> bool:
    return min(values.get(step.old, 0), values.get(step.new, 0)) >= _VALUES
