"""What a search measures next, and what it answers, where boots have two speeds by chance."""

from dataclasses import dataclass, replace

import numpy as np

from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.information import Probe, probes_at, probes_inside
from buildbot_bench.core.search.model import Answer, Costs, OtherSpeed, SearchPolicy, Step
from buildbot_bench.core.search.races import Race
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, SearchRange
from buildbot_bench.core.search.stop import likeliest, narrow_gaps, step_in

_LIKELY = 0.2  # the probability of a further step of the share from which on it is located


@dataclass(frozen=True, kw_only=True, slots=True)
class RaceState:
    """The gaps with a sure step of the share, and those that may hold one that is not located.

    `doubted`: whether the values may yet be explained without a race.
    """

    found: tuple[int, ...]
    open: tuple[int, ...]
    left_out: float
    doubted: bool


def classify(search_range: SearchRange, race: Race, policy: SearchPolicy) -> RaceState:
    """Sort the gaps between measured kernels by what is known of the share there."""
    step = race.shares.partition.step
    narrow: BoolArray = narrow_gaps(search_range, race.levels.readings.kernels)
    found = narrow & (step * race.probability >= 1 - policy.error)
    missed = np.where(found, 0.0, step)
    return RaceState(
        found=tuple(np.flatnonzero(found).tolist()),
        open=_likely(missed) if found.any() else likeliest(missed, policy.error),
        left_out=min(float(missed.sum()), 1.0),
        doubted=race.probability < 1 - policy.error,
    )


def _likely(missed: FloatArray) -> tuple[int, ...]:
    """Return the gaps that are worth dozens of boots more once a step was found."""
    return tuple(np.flatnonzero(missed > _LIKELY).tolist())


def race_probes(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    race: Race,
    state: RaceState,
    costs: Costs,
) -> list[Probe]:
    """All that could locate the step of the share, or tell a race from the luck of images."""
    if not race.seen_in_image:
        return [
            probe
            for place in np.unique(posterior.readings.place_of_value[race.other])
            for probe in probes_at(posterior, search_range, costs, int(place))
            if probe.known_image and _has_other(posterior, race, probe)
        ]
    gaps = state.open or state.found
    places = sorted({place for gap in gaps for place in (gap, gap + 1)})
    at = [probe for place in places for probe in probes_at(posterior, search_range, costs, place)]
    inside = [probe for gap in gaps for probe in probes_inside(posterior, search_range, costs, gap)]
    return at + inside


def _has_other(posterior: AveragedPosterior, race: Race, probe: Probe) -> bool:
    """Whether a boot of the probe's image was of the other speed."""
    readings = posterior.readings
    image = np.repeat(readings.image, readings.boots_of_image)
    here = (readings.place_of_value == probe.place) & (image == probe.image)
    return bool(race.other[here].any())


def conclude_race(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    race: Race,
    state: RaceState,
    reason: str,
) -> Answer:
    """The answer as things stand."""
    kernels = posterior.readings.kernels
    return Answer(
        steps=tuple(_race_step(search_range, posterior, race, gap) for gap in state.found),
        reproduced=True,
        unresolved=tuple((int(kernels[gap]), int(kernels[gap + 1])) for gap in state.open),
        reason=reason,
        left_out=state.left_out,
    )


def _race_step(
    search_range: SearchRange, posterior: AveragedPosterior, race: Race, gap: int
) -> Step:
    """The step of the share in a gap; its effect is that on the mean of many boots."""
    step = step_in(search_range, posterior, gap)
    shares = race.shares.levels().mean
    return replace(
        step,
        probability=min(float(posterior.step[gap]) * race.probability, 1.0),
        race=OtherSpeed(
            before=float(shares[gap]),
            after=float(shares[gap + 1]),
            depth=float(np.expm1(race.depth)),
        ),
    )
