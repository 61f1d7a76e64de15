"""The planner of a search: from all evidence to the next iteration, or to the answer."""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior, infer
from buildbot_bench.core.search.information import Probe, best, probes_at, probes_inside
from buildbot_bench.core.search.model import (
    Answer,
    Costs,
    Evidence,
    Measure,
    SearchPolicy,
    Suspect,
)
from buildbot_bench.core.search.noise_model import read
from buildbot_bench.core.search.proof import ends_unproved
from buildbot_bench.core.search.races import Race, classify, conclude_race, find_race, race_probes
from buildbot_bench.core.search.search_range import FloatArray, IntArray, SearchRange, build_range
from buildbot_bench.core.search.stop import (
    StopState,
    classify_gaps,
    conclude,
    ends_are_equal,
    ends_differ,
    not_reproduced,
    suspected,
)
from buildbot_bench.core.search.structure import structure, why_exhausted

# Below this probability of a relevant step, the ends are proved first.
_WORTH_LOOKING_INSIDE = 0.25
# The probability of two speeds of images from which on no image is booted again.
_MAY_HAVE_SPEEDS = 0.1
# The probability from which on what is likelier is measured.
_RATHER = 0.5
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
    known = _known(n, evidence, policy)
    if known is None:
        return _without_ends(build_range(n, evidence, policy), evidence, costs)
    search_range, posterior, race = known
    if race is None:
        return _plan_levels(search_range, posterior, costs, policy)
    if race.step_probability * race.probability <= policy.error:
        likelier = race.levels if race.probability > _RATHER else posterior
        return _plan_levels(search_range, likelier, costs, policy)
    if race.probability <= _RATHER:
        planned = _plan_levels(search_range, posterior, costs, policy)
        # That images have two speeds, and no step is there, needs no boot more.
        if isinstance(planned, Measure) or not (planned.steps or race.seen_in_image):
            return planned
    return _plan_race(search_range, posterior, race, costs, policy)


def _plan_levels(
    search_range: SearchRange, posterior: AveragedPosterior, costs: Costs, policy: SearchPolicy
) -> Measure | Answer:
    """What is next where levels are compared."""
    if ends_are_equal(posterior, policy):
        return not_reproduced(search_range, posterior)
    state = classify_gaps(search_range, posterior, policy)
    reason = _why_stop(search_range, posterior, state, policy)
    probes = [] if reason else _probes(search_range, posterior, state, costs)
    if search_range.images and posterior.two_speeds > _MAY_HAVE_SPEEDS:
        # Of which speed an image is, its first boot tells; only another image says more.
        probes = [one for one in probes if one.place is None or not one.known_image] or probes
    probe = best(posterior, search_range, probes)
    if probe is None:
        reason = reason or why_exhausted(posterior, policy)
        return conclude(search_range, posterior, state, policy, reason)
    return _measure(search_range, posterior, probe, costs)


def _plan_race(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    race: Race,
    costs: Costs,
    policy: SearchPolicy,
) -> Measure | Answer:
    """What is next where shares of boots are compared."""
    beside = race.beside(posterior)
    state = classify(search_range, race, policy)
    is_done = bool(state.found) and not state.open and not state.doubted
    enough = len(posterior.readings.values) >= policy.max_measurements
    if is_done or enough:
        reason = "each step is located" if is_done else why_exhausted(posterior, policy)
        return conclude_race(search_range, beside, race, state, reason)
    probe = best(beside, search_range, race_probes(search_range, beside, race, state, costs))
    if probe is None:
        return _plan_levels(search_range, posterior, costs, policy)
    return _measure(search_range, beside, probe, costs)


def _why_stop(
    search_range: SearchRange, posterior: AveragedPosterior, state: StopState, policy: SearchPolicy
) -> str:
    """The reason to answer now; empty when the search goes on."""
    if state.found and not (state.open or state.unproved or state.images):
        sides = posterior.readings.kernels
        pairs = [(int(sides[gap]), int(sides[gap + 1])) for gap in state.found]
        if all(len(search_range.untried(*pair)) == 0 for pair in pairs):
            return "each step is located"
        return (
            f"{constants.MOST_FAILING} revisions about a step cannot be tested, and some of those "
            "beside it are untried"
        )
    nothing_open = not state.open and not state.unproved
    if not state.found and nothing_open and (state.sloping or ends_differ(posterior, policy)):
        return "the ends differ, but no single commit changes enough"
    if len(posterior.readings.values) >= policy.max_measurements:
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
    known = _known(n, evidence, policy)
    if known is None:
        return None
    search_range, posterior, race = known
    if race is not None and race.probability > _RATHER:
        # Where shares are compared, each boot depends on what the last one was.
        return None
    # An idle testbed has no image yet that tells two speeds; it boots what says something else.
    state = replace(classify_gaps(search_range, posterior, policy), images=())
    taken = {(int(search_range.kernel[position]), image) for position, image in pending}
    probes = [
        probe
        for probe in _probes(search_range, posterior, state, costs)
        if (probe.known_image or (search_range.built[probe.kernel] and probe.place is None))
        and (probe.kernel, probe.image) not in taken
    ]
    probe = best(posterior, search_range, probes, least=_WORTH_A_BOOT)
    if probe is None:
        return None
    return Measure(position=int(search_range.ask[probe.kernel]), image=probe.image, prefetch=())


def answer_early(
    n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy, reason: str
) -> Answer:
    """Return what is known where a search ends before it is sure, for a `reason` of somebody's.

    What is not proved is unresolved: ends of which nothing is known yet, or that seem alike.
    """
    del costs
    known = _known(n, evidence, policy)
    if known is not None:
        search_range, posterior, race = known
        if race is not None and race.probability > _RATHER:
            shares = classify(search_range, race, policy)
            found = conclude_race(search_range, race.beside(posterior), race, shares, reason)
        else:
            state = classify_gaps(search_range, posterior, policy)
            found = conclude(search_range, posterior, state, policy, reason)
        if found.steps or found.unresolved:
            return replace(found, slopes=())
    return Answer(steps=(), reproduced=False, unresolved=((0, n),), reason=reason)


def no_change(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> float:
    """Return the probability that nothing relevant changed; 0 while an end lacks boots to say."""
    del costs
    known = _known(n, evidence, policy)
    if known is None or ends_unproved(known[1], policy):
        return 0.0
    _, posterior, race = known
    of_share = race.step_probability * race.probability if race else 0.0
    return max(0.0, 1 - max(float(posterior.relevant.sum()), posterior.ends_differ, of_share))


def noise_structure(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> str:
    """Return what structure the noise has, and what helps; '' for none, or before it is known."""
    del costs
    known = _known(n, evidence, policy)
    return structure(known[1]) if known else ""


def suspects(n: int, evidence: Evidence, costs: Costs, policy: SearchPolicy) -> tuple[Suspect, ...]:
    """What may hold a step, the likeliest first; nothing before both ends are measured."""
    del costs
    known = _known(n, evidence, policy)
    if known is None:
        return ()
    search_range, posterior, race = known
    if race is not None and race.probability > _RATHER:
        shares = classify(search_range, race, policy)
        return suspected(search_range, race.beside(posterior), (*shares.found, *shares.open))
    state = classify_gaps(search_range, posterior, policy)
    return suspected(search_range, posterior, (*state.found, *state.open))


@lru_cache(maxsize=1)
def _known(
    n: int, evidence: Evidence, policy: SearchPolicy
) -> tuple[SearchRange, AveragedPosterior, Race | None] | None:
    """What is known of the range; None before both ends are measured.

    It is kept for the next question of the same evidence: what is suspected, and what is next.
    """
    search_range = build_range(n, evidence, policy)
    ends = search_range.ends()
    if ends is None or not all(_ends_measured(search_range, evidence, ends)):
        return None
    posterior = infer(search_range, read(search_range, evidence.measurements), policy)
    return search_range, posterior, find_race(search_range, posterior, policy)


def _ends_measured(
    search_range: SearchRange, evidence: Evidence, ends: tuple[int, int]
) -> tuple[bool, bool]:
    measured = {int(search_range.kernel[m.position]) for m in evidence.measurements}
    old, new = ends
    return min(measured, default=new) <= old, max(measured, default=old) >= new


def _without_ends(search_range: SearchRange, evidence: Evidence, costs: Costs) -> Measure | Answer:
    """What is next where an end is not measured yet, or there are none."""
    ends = search_range.ends()
    if ends is None:
        return _nothing_to_compare(search_range)
    missing = [
        end
        for end, is_there in zip(ends, _ends_measured(search_range, evidence, ends), strict=True)
        if not is_there
    ]
    # One that stands in for an end that failed comes last: if the other end fails, too, it is
    # not the revisions.
    own = (0, int(search_range.kernel[search_range.n]))
    first = min(missing, key=lambda end: end not in own)
    return _measure_end(search_range, first, costs, set(ends))


def _nothing_to_compare(search_range: SearchRange) -> Answer:
    if (search_range.kernel == 0).all():
        return Answer(
            steps=(),
            reproduced=False,
            unresolved=(),
            reason="nothing in the range changes what is built",
        )
    return Answer(
        steps=(),
        reproduced=False,
        unresolved=((0, search_range.n),),
        reason="fewer than two revisions of the range can be tested",
    )


def _measure_end(search_range: SearchRange, end: int, costs: Costs, ends: set[int]) -> Measure:
    planned = [*ends]
    other = [
        int(search_range.ask[e]) for e in sorted(ends) if e != end and not search_range.built[e]
    ]
    count = max(costs.builders, 1)
    more = build_ahead(search_range, search_range.prior_cdf, planned, count)
    return Measure(position=int(search_range.ask[end]), image=0, prefetch=(*other, *more)[:count])


def _measure(
    search_range: SearchRange, posterior: AveragedPosterior, probe: Probe, costs: Costs
) -> Measure:
    prior_cdf = commit_cdf(search_range, posterior)
    prefetch = build_ahead(search_range, prior_cdf, [probe.kernel], max(costs.builders, 1))
    return Measure(
        position=int(search_range.ask[probe.kernel]), image=probe.image, prefetch=prefetch
    )


def _probes(
    search_range: SearchRange, posterior: AveragedPosterior, state: StopState, costs: Costs
) -> list[Probe]:
    """All that could close what is open: in and beside its gaps; else what proof lacks, or ends.

    Images come first that tell a likely step from images of two speeds.
    """
    for wanted in state.images:
        at = probes_at(posterior, search_range, costs, wanted.place)
        if anew := [probe for probe in at if not probe.known_image]:
            return anew
    gaps = state.open
    look_inside = state.sloping or float(posterior.relevant.sum()) >= _WORTH_LOOKING_INSIDE
    if not state.found and not (look_inside and (gaps or state.unproved)):
        return probes_at(posterior, search_range, costs, _end_booted_less(posterior))
    if not gaps and not state.unproved:
        return []
    if not gaps:
        wanted = state.unproved[0]
        at = probes_at(posterior, search_range, costs, wanted.place, image=wanted.image)
        return [probe for probe in at if not (wanted.anew and probe.known_image)]
    places = sorted({place for gap in gaps for place in (gap, gap + 1)})
    at = [probe for place in places for probe in probes_at(posterior, search_range, costs, place)]
    inside = [probe for gap in gaps for probe in probes_inside(posterior, search_range, costs, gap)]
    return at + inside


def _end_booted_less(posterior: AveragedPosterior) -> int:
    boots = np.bincount(posterior.readings.place_of_value)
    return 0 if boots[0] <= boots[-1] else len(boots) - 1


def commit_cdf(search_range: SearchRange, posterior: AveragedPosterior | None) -> FloatArray:
    """Cumulated probability that a relevant step is at or before each position, (n + 1,)."""
    if posterior is None:
        return search_range.prior_cdf
    kernels = posterior.readings.kernels
    before = np.concatenate([[0.0], np.cumsum(posterior.relevant)])
    prior_cdf: FloatArray = np.interp(
        search_range.prior_cdf, search_range.prior_cdf[kernels], before
    )
    return prior_cdf


def build_ahead(
    search_range: SearchRange, prior_cdf: FloatArray, planned: list[int], count: int
) -> tuple[int, ...]:
    """The median of the likeliest interval that planned kernels leave open, `count` times over."""
    able = search_range.able[~search_range.built[search_range.able]]
    marks = sorted({0, search_range.n, *planned, *np.flatnonzero(search_range.built).tolist()})
    chosen: list[int] = []
    while len(chosen) < count:
        kernel = _middle(able, prior_cdf, marks)
        if kernel is None:
            break
        chosen.append(int(search_range.ask[kernel]))
        marks = sorted({*marks, kernel})
    return tuple(chosen)


def _middle(able: IntArray, prior_cdf: FloatArray, marks: list[int]) -> int | None:
    """The kernel that best halves the heaviest interval which has one; None if none has."""
    intervals = sorted(pairwise(marks), key=lambda i: (prior_cdf[i[0]] - prior_cdf[i[1]], i))
    for old, new in intervals:
        inside = able[np.searchsorted(able, old + 1) : np.searchsorted(able, new)]
        if len(inside):
            middle = 0.5 * (prior_cdf[old] + prior_cdf[new])
            flat = prior_cdf[new] - prior_cdf[old] <= 0
            away = np.abs(inside - 0.5 * (old + new) if flat else prior_cdf[inside] - middle)
            return int(inside[np.argmin(away)])
    return None
