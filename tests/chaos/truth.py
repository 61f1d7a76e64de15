"""A history with known changes of level, cut into ranges with one change each."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.e2e.histories import numbered_history
from tests.e2e.replay_farm import History

FIRST = 400_001
RANGE = 6  # commits
RANGES = 150
WORKLOAD = "forwarding"
LEVEL = "spare"  # a workload on which nothing ever changes
Step = tuple[str, str, int]
"""Between which two revisions, and whether down or up."""
# So large that one image of each tells it: no luck with the layout is.
_HIGH_PPS, _LOW_PPS, _NOISE_PPS = 600_000.0, 420_000.0, 1_500.0
_RECORDED = 8  # boots of each recorded revision


@dataclass(frozen=True, kw_only=True)
class Truth:
    """`steps` are the numbers of the commits that change the level, oldest first; down, then up."""

    history: History
    series: Path
    steps: tuple[int, ...]

    def ends(self, number: int) -> tuple[str, str]:
        """The ends of the range of that number."""
        old = FIRST + RANGE * number
        return f"r{old}", f"r{old + RANGE}"

    def within(self, old: str, new: str) -> list[Step]:
        """What a search from one revision to another is to find."""
        first, last = int(old[1:]), int(new[1:])
        return [
            (f"r{step - 1}", f"r{step}", -1 if number % 2 == 0 else 1)
            for number, step in enumerate(self.steps)
            if first < step <= last
        ]


def explains(found: Sequence[Step], there: Sequence[Step]) -> bool:
    """Whether an answer is one that a range with these steps may have.

    Each step of it is one of them, and the level does not jump between: from the old end's to the
    first found, from each to the next, and from the last to the new end's. A down and an up that
    follow one another may both be missing, for nothing need be measured between the two. Of a range
    with one step that is the only answer.
    """
    signs = [sign for _, _, sign in found]
    return (
        bool(found)
        and [step for step in there if step in found] == list(found)
        and all(one != following for one, following in pairwise(signs))
        and (signs[0], signs[-1]) == (there[0][2], there[-1][2])
    )


def truth_in(home: Path, seed: int) -> Truth:
    """Make the repository and the recording; the same seed makes the same."""
    chance = random.Random(seed)
    steps = tuple(FIRST + RANGE * number + chance.randint(1, RANGE) for number in range(RANGES))
    history = numbered_history(home, FIRST, FIRST + RANGE * RANGES)
    levels = {FIRST: _HIGH_PPS} | {
        step: (_LOW_PPS, _HIGH_PPS)[number % 2] for number, step in enumerate(steps)
    }
    series = home / "series.jsonl"
    series.write_text(
        _series(chance, WORKLOAD, levels) + _series(chance, LEVEL, {FIRST: _HIGH_PPS})
    )
    return Truth(history=history, series=series, steps=steps)


def _series(chance: random.Random, workload: str, levels: dict[int, float]) -> str:
    points = [
        {
            "revision": f"r{svn}",
            "pps": [round(chance.gauss(level, _NOISE_PPS), 1) for _ in range(_RECORDED)],
        }
        for svn, level in levels.items()
    ]
    named = {"dut": "AMD_GX-412TC_4Cores", "label": "fbsd12-head.iflib", "workload": workload}
    return json.dumps(named | {"points": points}) + "\n"
