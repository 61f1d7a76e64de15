"""The search itself: from all that is known to the next iteration, or to the answer.

A pure function of its arguments: whoever calls it again with more evidence goes on where the
search stood, and who calls it with other evidence gets the search that fits.
"""

from __future__ import annotations

import numpy as np

from buildbot_bench.core.search.ahead import build_ahead, commit_mass
from buildbot_bench.core.search.belief import Belief, believe
from buildbot_bench.core.search.design import Probe, best, probes_at, probes_inside
from buildbot_bench.core.search.ground import Ground, survey
from buildbot_bench.core.search.model import (
    Answer,
    Costs,
    Evidence,
    Measure,
    SearchPolicy,
    Suspect,
)
from buildbot_bench.core.search.readings import read
from buildbot_bench.core.search.stop import (
    Outlook,
    conclude,
    ends_are_equal,
    look,
    not_reproduced,
    suspected,
)

# Below this probability of any step, the ends are proved first.
_WORTH_LOOKING_INSIDE = 0.1
# A testbed that would idle boots what is expected to tell at least this much, in nats.
_WORTH_A_BOOT = 0.02


def plan(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> Measure | Answer:
    """The next iteration to run, or the answer.

    Positions are 0..n. Effects are signed changes of the metric itself, relative to the old level:
    -0.256 says that the metric dropped by 25.6 %, whether or not higher is better; the same
    search on the reciprocal metric gives the same steps with the reciprocal changes.
    A measured image is taken to be still there, so that booting it again costs no build.
    Raises UsageError for evidence that contradicts n.
    """
    ground = survey(n, evidence, policy)
    ends = ground.ends()
    if ends is None:
        return _nothing_to_compare(ground)
    for end, is_there in zip(ends, _ends_measured(ground, evidence, ends), strict=True):
        if not is_there:
            return _measure_end(ground, end, costs, set(ends))
    belief = believe(ground, read(ground, evidence.measurements), policy)
    if ends_are_equal(belief, policy):
        return not_reproduced(ground, belief)
    outlook = look(ground, belief, policy)
    reason = _why_stop(belief, outlook, policy)
    probes = [] if reason else _probes(ground, belief, outlook, costs)
    probe = best(belief, ground, probes)
    if probe is None:
        return conclude(ground, belief, outlook, reason or "nothing is left that could be measured")
    return _measure(ground, belief, probe, costs)


def _why_stop(belief: Belief, outlook: Outlook, policy: SearchPolicy) -> str:
    """The reason to answer now; empty when the search goes on."""
    if outlook.found and not outlook.open and not outlook.unconfirmed:
        return f"each step is located; the answer is wrong with probability {outlook.doubt:.2g}"
    if len(belief.readings.values) >= policy.max_measurements:
        return f"{policy.max_measurements} measurements were not enough"
    return ""


def meanwhile(
    n: int,
    evidence: Evidence,
    costs: Costs,
    policy: SearchPolicy,
    pending: tuple[tuple[int, int], ...] = (),
) -> Measure | None:
    """What a testbed can measure that would idle: an image that is there and tells something.

    `pending` are the (position, image) that are being built or measured already. None when no
    image at hand is worth a boot; the prefetch of the answer is empty.
    """
    state = _state(n, evidence, policy)
    if state is None:
        return None
    ground, belief = state
    outlook = look(ground, belief, policy)
    taken = {(int(ground.kernel[position]), image) for position, image in pending}
    probes = [
        probe
        for probe in _probes(ground, belief, outlook, costs)
        if (probe.known_image or (ground.built[probe.kernel] and probe.place is None))
        and (probe.kernel, probe.image) not in taken
    ]
    probe = best(belief, ground, probes, least=_WORTH_A_BOOT)
    if probe is None:
        return None
    return Measure(position=int(ground.ask[probe.kernel]), image=probe.image, prefetch=())


def suspects(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> tuple[Suspect, ...]:
    """What may hold a step, the likeliest first; nothing before both ends are measured."""
    del costs
    state = _state(n, evidence, policy)
    if state is None:
        return ()
    ground, belief = state
    return suspected(ground, belief, look(ground, belief, policy))


def _state(n: int, evidence: Evidence, policy: SearchPolicy) -> tuple[Ground, Belief] | None:
    """What is known of the range; None before both ends are measured."""
    ground = survey(n, evidence, policy)
    ends = ground.ends()
    if ends is None or not all(_ends_measured(ground, evidence, ends)):
        return None
    return ground, believe(ground, read(ground, evidence.measurements), policy)


def _ends_measured(ground: Ground, evidence: Evidence, ends: tuple[int, int]) -> tuple[bool, bool]:
    measured = {int(ground.kernel[m.position]) for m in evidence.measurements}
    old, new = ends
    return min(measured, default=new) <= old, max(measured, default=old) >= new


def _nothing_to_compare(ground: Ground) -> Answer:
    if (ground.kernel == 0).all():
        return Answer(
            steps=(),
            reproduced=False,
            unresolved=(),
            reason="all kernels of the range are identical",
        )
    return Answer(
        steps=(),
        reproduced=False,
        unresolved=((0, ground.n),),
        reason="fewer than two revisions of the range can be tested",
    )


def _measure_end(ground: Ground, end: int, costs: Costs, ends: set[int]) -> Measure:
    planned = [*ends]
    other = [int(ground.ask[e]) for e in sorted(ends) if e != end and not ground.built[e]]
    count = max(costs.builders, 1)
    more = build_ahead(ground, ground.mass, planned, count)
    return Measure(position=int(ground.ask[end]), image=0, prefetch=(*other, *more)[:count])


def _measure(ground: Ground, belief: Belief, probe: Probe, costs: Costs) -> Measure:
    mass = commit_mass(ground, belief)
    prefetch = build_ahead(ground, mass, [probe.kernel], max(costs.builders, 1))
    return Measure(position=int(ground.ask[probe.kernel]), image=probe.image, prefetch=prefetch)


def _probes(ground: Ground, belief: Belief, outlook: Outlook, costs: Costs) -> list[Probe]:
    """All that could close what is open: in and beside its gaps; else at the ends."""
    gaps = outlook.open
    if not outlook.found and (not gaps or float(belief.step.sum()) < _WORTH_LOOKING_INSIDE):
        return probes_at(belief, ground, costs, _end_booted_less(belief))
    places = sorted({place for gap in gaps for place in (gap, gap + 1)}.union(outlook.unconfirmed))
    at = [probe for place in places for probe in probes_at(belief, ground, costs, place)]
    return at + [probe for gap in gaps for probe in probes_inside(belief, ground, costs, gap)]


def _end_booted_less(belief: Belief) -> int:
    boots = np.bincount(belief.readings.place_of_value)
    return 0 if boots[0] <= boots[-1] else len(boots) - 1
