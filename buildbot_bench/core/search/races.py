"""Boots of two speeds by chance: the races between them, and what a search does next there.

Where boots fall into two speeds, far apart, which of the two a boot has is seen. Then

    p(values) = p(values, the other speed taken off, of levels) p(speeds of boots, of shares),

the first by the same inference as without a race, the second by the same partition, of kernels
into stretches of one share s: k of n boots have the other speed with probability s^k (1 - s)^(n-k),
integrated over a grid of shares. The distance is weighed as that of two speeds of images is. An
hour in which the lab is slow makes such boots of every kernel: then the speeds are those of a
Markov chain in time.
"""

from dataclasses import dataclass, replace
from math import hypot, log, sqrt

import numpy as np
from scipy.special import expit

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior, Fold, infer
from buildbot_bench.core.search.information import Probe, probes_at, probes_inside
from buildbot_bench.core.search.model import Answer, Costs, OtherSpeed, SearchPolicy, Step
from buildbot_bench.core.search.noise_average import step_prior
from buildbot_bench.core.search.noise_model import Readings
from buildbot_bench.core.search.partition import Normal, partition_posteriors
from buildbot_bench.core.search.posterior import Posterior, change_of
from buildbot_bench.core.search.search_range import BoolArray, FloatArray, IntArray, SearchRange
from buildbot_bench.core.search.stop import likeliest, narrow_gaps, step_in
from buildbot_bench.core.search.two_speeds import distance_prior, split

NumberArray = FloatArray | IntArray

# Shares of boots of the other speed, and their prior weights: next to none, or any that is a race.
_NONE = ((0.003, 0.15), (0.01, 0.2), (0.03, 0.15))
_SOME = tuple((share, 0.5 / 9) for share in np.linspace(0.1, 0.9, 9).tolist())
# Standard deviations of single boots that two speeds lie apart at least, so that each is seen.
_APART = 5.0
# How an hour of the other speed begins and lasts, from boot to boot, and its prior weight.
_BEGINS, _LASTS, _HOURS = (0.02, 0.05, 0.1, 0.2), (0.5, 0.7, 0.85, 0.95), 0.05
_FEWEST = 4  # values in which two groups are looked for
_MOST = 200  # kernels; chosen for speed: the time grows with their square


@dataclass(frozen=True, kw_only=True, slots=True)
class Race:
    """Boots of two speeds, `depth` apart in ln, with its standard error.

    `probability` that boots have two speeds, against all that explains the values without.
    `other` (N,) are the values of the other speed, `seen_in_image` whether one image has both.
    `levels` speaks of the values with the other speed taken off; the stretches and changes of
    `shares` are of the share of boots with the other speed.
    """

    probability: float
    depth: float
    depth_sd: float
    other: BoolArray
    seen_in_image: bool
    levels: AveragedPosterior
    shares: Posterior

    @property
    def step_probability(self) -> float:
        """P(the share changes in the range), if there is a race."""
        return 1 - float(self.shares.partition.stretch[0, -1])

    def beside(self, posterior: AveragedPosterior) -> AveragedPosterior:
        """The posterior in which the steps are those of the shares."""
        m = len(posterior.readings.kernels)
        step, change = self.shares.partition.step, self.shares.change
        return replace(
            posterior,
            models=(replace(self.shares, weight=1.0),),
            step=step,
            relevant=step,
            further=step,
            sought=step,
            change=change.mean * self.depth,
            change_sd=np.hypot(self.depth * np.sqrt(change.variance), self.depth_sd * change.mean),
            fold=Fold(place=np.arange(m), gaps=np.arange(m - 1)),
        )


def find_race(
    search_range: SearchRange, posterior: AveragedPosterior, policy: SearchPolicy
) -> Race | None:
    """What the values say if boots have two speeds; None unless a kernel has boots of both.

    Nor is there one where nothing is known of the time, by which a race differs from a slow hour.
    """
    readings = posterior.readings
    other = _other_speed(readings, posterior, policy)
    if other is None or len(readings.kernels) > _MOST or np.ptp(readings.at_s) == 0:
        return None
    place = readings.place_of_value
    boots = np.bincount(place)
    slow = np.bincount(place, other)
    if not ((slow > 0) & (slow < boots)).any():
        return None
    depth = float(readings.values[other].mean() - readings.values[~other].mean())
    plain = readings.revalued(readings.values - depth * other)
    levels = infer(search_range, plain, replace(policy, claimed=None))
    spread = levels.models[0].noise.total
    error = spread * sqrt(1 / int(other.sum()) + 1 / int((~other).sum()))
    shares = _shares(search_range, posterior, policy, (boots - slow, slow))
    both = levels.log_evidence + log(distance_prior(policy, abs(depth), error))
    # Both count their steps from a further one on; only one of them may.
    once = log(constants.FURTHER_STEP / (1 - constants.NO_STEP))
    score = both + shares.partition.log_evidence - once + log(constants.RACE)
    hours = both + _log_of_hours(other[np.argsort(readings.at_s, kind="stable")]) + log(_HOURS)
    image = np.repeat(np.arange(len(readings.image)), readings.boots_of_image)
    of_image = np.bincount(image, other)
    return Race(
        probability=float(expit(score - np.logaddexp(posterior.log_evidence, hours))),
        depth=depth,
        depth_sd=error,
        other=other,
        seen_in_image=bool(((of_image > 0) & (of_image < readings.boots_of_image)).any()),
        levels=levels,
        shares=shares,
    )


def _other_speed(
    readings: Readings, posterior: AveragedPosterior, policy: SearchPolicy
) -> BoolArray | None:
    """Which values are of the speed that the old end has less often, (N,); None without two."""
    values = readings.values
    if len(values) < _FEWEST:
        return None
    low, high = split(np.sort(values))
    if not len(high):
        return None
    within = sqrt(float(((low - low.mean()) ** 2).sum() + ((high - high.mean()) ** 2).sum()))
    spread = within / sqrt(max(len(values) - 2, 1))
    if policy.sigma_run is not None:
        build = (policy.sigma_build or 0.0) if policy.layout else 0.0
        spread = min(max(spread, hypot(policy.sigma_run, build)), posterior.models[0].noise.total)
    if high.mean() - low.mean() < _APART * spread or high[0] - low[-1] < spread:
        return None
    is_low: BoolArray = values <= low[-1]
    at_old_end = float(is_low[readings.place_of_value == 0].mean())
    return ~is_low if at_old_end > 1 / 2 else is_low


def _log_of_hours(other: BoolArray) -> float:
    """Ln P(speeds of boots, in the order of time) where hours are of the other speed."""
    begins, lasts = (axis.ravel() for axis in np.meshgrid(_BEGINS, _LASTS))
    before, now = other[:-1], other[1:]
    first = begins / (1 + begins - lasts)
    logs = np.log(first if other[0] else 1 - first)
    for was, chance in ((False, begins), (True, lasts)):
        logs += np.count_nonzero((before == was) & now) * np.log(chance)
        logs += np.count_nonzero((before == was) & ~now) * np.log1p(-chance)
    return float(np.logaddexp.reduce(logs) - log(len(logs)))


def _shares(
    search_range: SearchRange,
    posterior: AveragedPosterior,
    policy: SearchPolicy,
    counts: tuple[NumberArray, NumberArray],
) -> Posterior:
    """The partition of the kernels by shares; `counts` (m,) of boots without and with it."""
    cdf = search_range.prior_cdf[posterior.readings.kernels]
    prior = step_prior(np.array([cdf[:-1], cdf[1:]]), search_range.changes, policy)
    # Levels come in clusters, as features that are mended at once; a race seldom has a second part.
    prior = replace(prior, clustering=np.zeros_like(prior.clustering))
    usual, other = (np.append(0.0, np.cumsum(count)) for count in counts)
    usual, other = (np.maximum(total[None, 1:] - total[:-1, None], 0) for total in (usual, other))
    share, weight = np.array([*_NONE, *_SOME]).T
    logs = np.log(weight) + other[..., None] * np.log(share) + usual[..., None] * np.log1p(-share)
    log_evidence = np.logaddexp.reduce(logs, axis=2)
    of_share = np.exp(logs - log_evidence[..., None])
    mean = of_share @ share
    stretches = Normal(mean=mean, variance=np.maximum(of_share @ share**2 - mean**2, 0.0))
    begun = np.tri(len(logs), dtype=bool).T
    log_evidence = np.where(begun, log_evidence, -np.inf)
    (partition,) = partition_posteriors(log_evidence[None], prior)
    every = Normal(mean=stretches.mean[None], variance=stretches.variance[None])
    change = change_of(partition.stretch[None], every)
    return Posterior(
        hypothesis=posterior.models[0].hypothesis,
        stretches=stretches,
        ahead=stretches,
        change=Normal(mean=change.mean[0], variance=change.variance[0]),
        partition=partition,
        score=partition.log_evidence,
        of_shares=True,
    )


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
