"""`python -m benchmarks breakages`: searches for what broke a branch, where booting is a race.

Each row has rates of failing before the culprit and from it on. Seeds below 100,000 judge; `--seed
100000` gives others to develop with.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scale import seeds_of
from buildbot_bench.core.incident.breakage import plan_breakage
from buildbot_bench.core.incident.model import (
    Breakage,
    BreakageEvidence,
    Ending,
    Trial,
    TrialOutcome,
)

REPLICATES, QUICK = 400, 40
COMMITS = 64
_MOST_BOOTS = 400


@dataclass(frozen=True, kw_only=True)
class Row:
    """Rates of failing of good and of broken revisions."""

    name: str
    good: float
    bad: float


ROWS = (
    Row(name="it fails each time", good=0.0, bad=1.0),
    Row(name="it fails in 90 % of the boots", good=0.0, bad=0.9),
    Row(name="it fails in 60 % of the boots", good=0.0, bad=0.6),
    Row(name="good kernels fail in 20 %", good=0.2, bad=1.0),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each row: boots, wrong culprits, searches without one."""
    seeds = seeds_of(argv, "breakages", __doc__, usual=REPLICATES, quick=QUICK)
    for row in ROWS:
        found = [searched(row, seed) for seed in seeds]
        boots = np.mean([boots for boots, _, _ in found])
        wrong = sum(wrong for _, wrong, _ in found)
        without = sum(without for _, _, without in found)
        print(
            f"{row.name:32s} {boots:5.1f} boots  wrong {wrong}  without {without}  of {len(seeds)}",
            flush=True,
        )
    return 0


def searched(row: Row, seed: int) -> tuple[int, bool, bool]:
    """How many boots a search took after its ends' first, whether it is wrong, or has no answer.

    As on a farm, it begins once the old end worked and the new end failed.
    """
    rng = np.random.default_rng([seed, int(100 * row.good), int(100 * row.bad)])
    culprit = int(rng.integers(1, COMMITS + 1))
    trials = [
        Trial(position=0, outcome=TrialOutcome.WORKS),
        Trial(position=COMMITS, outcome=TrialOutcome.BROKEN),
    ]
    for boots in range(_MOST_BOOTS):
        plan = plan_breakage(COMMITS, BreakageEvidence(trials=tuple(trials)))
        if isinstance(plan, Breakage):
            found = plan.ending is Ending.BROKEN
            return boots, found and (plan.old, plan.new) != (culprit - 1, culprit), not found
        fails = rng.random() < (row.bad if plan.position >= culprit else row.good)
        outcome = TrialOutcome.BROKEN if fails else TrialOutcome.WORKS
        trials.append(Trial(position=plan.position, outcome=outcome, asked_at_s=1.0 + boots))
    return _MOST_BOOTS, False, True
