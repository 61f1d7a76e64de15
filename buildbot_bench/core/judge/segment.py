"""Where the present level began: the changes in history that were dealt with are not told again.

The judge keeps no memory of its alarms. It judges history once more, position by position, with
the evidence that there was before the new revision was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from buildbot_bench.core.judge.change import RECENT, Row, row
from buildbot_bench.core.judge.finding import Finding, strongest
from buildbot_bench.core.judge.images import Image, known_before, screened_at_s
from buildbot_bench.core.judge.model import JudgePolicy
from buildbot_bench.core.judge.rounds import is_confirmed, is_exhausted
from buildbot_bench.core.noise import Noise

_SLACK = 2.0  # as the noise is known better, the evidence (ln) of an old alarm shrinks or grows


def present_level(images: Sequence[Image], noise: Noise, policy: JudgePolicy) -> int:
    """The position at which the level began that the last position is to be compared with."""
    position = images[-1].position
    older = [image for image in images if image.position < position]
    since_s = screened_at_s([image for image in images if image.position == position])
    known = known_before(older, since_s, noise.sigma_run)
    if not known:
        return images[0].position
    levels = row(known, noise, policy.min_effect)
    start = judged = 0
    while (change := _next_closed(known, levels, start, judged, policy)) is not None:
        start, judged = change
    return known[levels.index(start)].position


def _next_closed(
    known: Sequence[Image], levels: Row, start: int, judged: int, policy: JudgePolicy
) -> tuple[int, int] | None:
    """The first change since `start` that was dealt with: where it began, when it was judged."""
    totals = levels.log_totals(start)
    needed = math.log(policy.evidence_needed)
    for end in range(max(judged, start) + 1, levels.length + 1):
        if totals[end] < needed - _SLACK:
            continue
        finding = strongest(known, levels, start, end)
        if finding is None:
            continue
        bygone = finding.start <= levels.length - RECENT and finding.log_evidence >= needed
        if bygone or _closed(finding, levels.noise, policy):
            return finding.start, end
    return None


def _closed(finding: Finding, noise: Noise, policy: JudgePolicy) -> bool:
    """Whether it was an alarm, or fresh boots of both sides denied it (then the lab drifted).

    The judge ends before the last round only with an alarm. Where it ended there, the evidence
    was enough at that time, although it may seem a little less by what is known now.
    """
    enough = finding.log_evidence >= math.log(policy.evidence_needed)
    if is_confirmed(finding, noise, policy):
        return enough or not is_exhausted(finding, policy)
    return enough and is_exhausted(finding, policy) and finding.denied(noise)
