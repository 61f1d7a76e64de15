"""Whether a new sample means that the code changed; it measures, stores and mails nothing."""

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.layout import BEYOND_LAYOUT
from buildbot_bench.core.judge.model import (
    Alarm,
    JudgePolicy,
    Nothing,
    Remeasure,
    Suspicion,
    Unfit,
    Verdict,
)

__all__ = [
    "BEYOND_LAYOUT",
    "Alarm",
    "JudgePolicy",
    "Nothing",
    "Remeasure",
    "Suspicion",
    "Unfit",
    "Verdict",
    "judge",
]
