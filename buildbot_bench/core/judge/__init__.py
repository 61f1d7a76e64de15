"""The judge, which decides whether a new sample shows a change of the code."""

from buildbot_bench.core.judge.decide import judge, judge_by_history
from buildbot_bench.core.judge.marks import noise_by_marks
from buildbot_bench.core.judge.model import (
    Alarm,
    Direction,
    JudgePolicy,
    Nothing,
    Remeasure,
    Said,
    Settled,
    Suspicion,
    Unfit,
    Verdict,
    settled_by,
)

__all__ = [
    "Alarm",
    "Direction",
    "JudgePolicy",
    "Nothing",
    "Remeasure",
    "Said",
    "Settled",
    "Suspicion",
    "Unfit",
    "Verdict",
    "judge",
    "judge_by_history",
    "noise_by_marks",
    "settled_by",
]
