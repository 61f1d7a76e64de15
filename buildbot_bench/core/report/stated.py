"""The size of each step as stated when its search ended, for mails, pages and JSON."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from buildbot_bench.core.search import Answer, Step
from buildbot_bench.core.shared_fields import shared


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedChange:
    """What is said of the step of an answer that lies in (old, new].

    `effect` and its 95 % interval `low` to `high` are fractions of the old one of both `levels`.
    These are in the metric's unit, and None where the search's own estimate is stated.
    """

    old: int
    new: int
    effect: float
    low: float
    high: float
    levels: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedChanges:
    """Those of all steps of an answer; `changes` is empty where there is no step."""

    changes: tuple[StatedChange, ...] = ()

    def find(self, step: Step) -> StatedChange | None:
        """What is said of a step; None of one that is not there."""
        same = (one for one in self.changes if (one.old, one.new) == (step.old, step.new))
        return next(same, None)

    def apply(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        """The steps with the figures that are stated of them."""
        pairs = ((step, self.find(step)) for step in steps)
        return tuple(
            replace(step, effect=found.effect, low=found.low, high=found.high) if found else step
            for step, found in pairs
        )


NOTHING_STATED = StatedChanges()


def estimates(answer: Answer) -> StatedChanges:
    """The search's own figures: for an answer whose levels nobody can figure out any more."""
    return StatedChanges(
        changes=tuple(StatedChange(**shared(StatedChange, step)) for step in answer.steps)
    )
