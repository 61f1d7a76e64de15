"""The replay of a search: its suspects after each measurement."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from buildbot_bench.core.report.context import SearchStage
from buildbot_bench.core.search import Answer, Costs, Evidence, SearchPolicy, Suspect, suspects
from buildbot_bench.core.search.inference import infer
from buildbot_bench.core.search.readings import read
from buildbot_bench.core.search.search_range import build_range

# Each stage costs a plan: tens of milliseconds for a long range.
MOST_STAGES = 60

# A step lies between two different kernels that were measured; one alone shows none.
_KERNELS_OF_A_STEP = 2

_NO_COSTS = Costs(build_s=0.0, boot_s=0.0, run_s=0.0)  # suspicion does not depend on them


def replay_stages(
    n: int, evidence: Evidence, policy: SearchPolicy, times: Collection[float]
) -> tuple[SearchStage, ...]:
    """What was suspected after each measurement that ended at one of `times`, oldest first.

    At most 60, evenly spread, with the last; what is untestable or identical is so from the start.
    """
    ordered = sorted(evidence.measurements, key=lambda one: one.at_s)
    ends = [index for index, one in enumerate(ordered, start=1) if one.at_s in times]
    stages = []
    if len(ends) > MOST_STAGES:
        ends = [ends[int(index)] for index in np.linspace(0, len(ends) - 1, MOST_STAGES)]
    for end in ends:
        known = replace(evidence, measurements=tuple(ordered[:end]))
        found = suspects(n, known, _NO_COSTS, policy)
        # Where both ends were measured, nothing suspected means that they are equal.
        both_ends = bool(found) or {0, n} <= {one.position for one in known.measurements}
        stages.append(
            SearchStage(
                at_s=ordered[end - 1].at_s,
                position=ordered[end - 1].position,
                left=sum(one.new - one.old for one in found) if both_ends else n,
                suspects=found,
            )
        )
    return tuple(stages)


def runners_up(
    n: int, evidence: Evidence, policy: SearchPolicy, answer: Answer
) -> dict[int, tuple[Suspect, ...]]:
    """Where each step of the answer may lie instead, the likeliest first, by its `new`.

    That is beside it, in what was measured next, and in its direction: a change elsewhere, or the
    other way, is another step.
    """
    ground = build_range(n, evidence, policy)
    measured = {int(ground.kernel[one.position]) for one in evidence.measurements}
    if len(measured) < _KERNELS_OF_A_STEP:
        return {}
    belief = infer(ground, read(ground, evidence.measurements), policy)
    kernels = [int(kernel) for kernel in belief.readings.kernels]
    gap_of = {kernel: gap for gap, kernel in enumerate(kernels[1:])}
    named = {
        gap_of[step.new]: step for step in answer.steps if step.new in gap_of and step.race is None
    }
    return {
        step.new: tuple(
            sorted(
                (
                    Suspect(
                        old=ground.last_with(kernels[beside]),
                        new=kernels[beside + 1],
                        probability=float(belief.relevant[beside]),
                        effect=float(np.expm1(belief.change[beside])),
                    )
                    for beside in (gap - 1, gap + 1)
                    if 0 <= beside < len(kernels) - 1
                    and beside not in named
                    and belief.change[beside] * step.effect > 0
                ),
                key=lambda place: -place.probability,
            )
        )
        for gap, step in named.items()
    }
