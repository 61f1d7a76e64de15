"""The choice of the iteration, and of the series, with the most information per second.

A candidate's worth is the mutual information between its value and the stretch of its revision: the
entropy of the value less its entropy given the stretch (Lindley, "On a measure of the information
provided by an experiment", 1956).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from buildbot_bench.core.model import constants
from buildbot_bench.core.search.inference import AveragedPosterior
from buildbot_bench.core.search.model import Costs
from buildbot_bench.core.search.noise_model import SearchNoise
from buildbot_bench.core.search.posterior import Posterior
from buildbot_bench.core.search.search_range import FloatArray, SearchRange
from buildbot_bench.core.search.two_speeds import far_odds, other_odds

# Of the prior mass inside a gap, where kernels are tried: the median halves it; the others are
# chosen about it, for where it is broken or another kernel is cheaper.
_QUANTILES = (0.5, 0.4, 0.6, 0.25, 0.75)
# Of a mixture whose information is computed: the heaviest components, and the least weight of one.
# Chosen for speed: the time grows with the square of their number.
_MOST_COMPONENTS = 12
_LEAST_WEIGHT = 1e-5
# Of many images of one kernel, those that were booted least are worth another boot.
_IMAGES_TO_BOOT = 3
# Builds go on beside boots, and many are made ahead: this share of a build's time is waited for.
_BUILD_FELT = 0.03
# Views of the noise by which a probe is judged: the likeliest ones, for each doubles the time.
_MODELS = 2
# Gauss-Hermite nodes: 9 integrate polynomials of degree 17 exactly.
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """A possible iteration: of a kernel, by an image number; `cost_s` of builder and lab time.

    `place` is the kernel's index among the measured ones, or None; `gap` the one it lies in.
    `success` is the probability that it builds and boots.
    """

    kernel: int
    image: int
    cost_s: float
    place: int | None = None
    gap: int | None = None
    success: float = 1.0
    known_image: bool = False


def probes_at(
    posterior: AveragedPosterior,
    search_range: SearchRange,
    costs: Costs,
    place: int,
    *,
    image: int | None = None,
) -> list[Probe]:
    """Boot each image of a measured kernel again, or build it anew if that makes another one.

    When one `image` is asked for, boot that one again.
    """
    readings = posterior.readings
    kernel = int(readings.kernels[place])
    if search_range.ask[kernel] < 0:
        return []
    boot = costs.boot_s + costs.run_s
    here = readings.place == place
    if image is not None:
        return [Probe(kernel=kernel, image=image, cost_s=boot, place=place, known_image=True)]
    rarest = np.argsort(readings.boots_of_image[here], kind="stable")[:_IMAGES_TO_BOOT]
    again = [
        Probe(kernel=kernel, image=int(i), cost_s=boot, place=place, known_image=True)
        for i in readings.image[here][rarest]
    ]
    if not search_range.images:
        return again if readings.boots_of_image[here].sum() < search_range.most_boots else []
    anew = readings.next_image(place)
    return [
        *again,
        Probe(kernel=kernel, image=anew, cost_s=boot + _BUILD_FELT * costs.build_s, place=place),
    ]


def probes_inside(
    posterior: AveragedPosterior, search_range: SearchRange, costs: Costs, gap: int
) -> list[Probe]:
    """Kernels inside a gap: near the quantiles of the prior, and built ones near its median."""
    old, new = (int(k) for k in posterior.readings.kernels[gap : gap + 2])
    inside = search_range.worth_building(old, new)
    if not len(inside):
        return []
    prior_cdf = search_range.prior_cdf[inside]
    low, high = search_range.prior_cdf[old], search_range.prior_cdf[new]
    testable = search_range.testable(inside)
    if len(search_range.broken_between(old, new)):
        # What is likely to build and narrows the gap most, as if its value told its side.
        below = np.clip((prior_cdf - low) / max(high - low, 1e-300), 0, 1)
        wanted = {int(np.argmax(testable * (entr(below) + entr(1 - below))))}
    else:
        wanted = {int(np.argmin(np.abs(prior_cdf - (low + q * (high - low))))) for q in _QUANTILES}
    ready = np.flatnonzero(search_range.built[inside])
    at = np.argsort(np.abs(prior_cdf[ready] - 0.5 * (low + high)), kind="stable")
    wanted.update(ready[at[:2]].tolist())
    boot = costs.boot_s + costs.run_s
    return [
        Probe(
            kernel=int(inside[at]),
            image=0,
            cost_s=boot + (0 if search_range.built[inside[at]] else _BUILD_FELT * costs.build_s),
            gap=gap,
            success=1.0 if search_range.built[inside[at]] else float(testable[at]),
        )
        for at in sorted(wanted)
    ]


def best(
    posterior: AveragedPosterior,
    search_range: SearchRange,
    probes: list[Probe],
    *,
    least: float = 0.0,
) -> Probe | None:
    """The probe with the most information per second, of those with at least `least` nats."""
    models = posterior.models[:_MODELS]
    worth = np.zeros(len(probes))
    for one in models:
        worth += one.weight * np.array(
            [_information(posterior, search_range, one, p) for p in probes]
        )
    # Information is none at the least; what is rounded may be less.
    worth = np.maximum(worth / sum(v.weight for v in models), 0.0)
    rate = worth * [p.success / max(p.cost_s, 1e-9) for p in probes]
    if not len(rate):
        return None
    chosen = int(np.argmax(rate))
    return probes[chosen] if worth[chosen] >= least else None


def _information(
    posterior: AveragedPosterior, search_range: SearchRange, under: Posterior, probe: Probe
) -> float:
    """Mutual information (nats) of the probe's value and the stretch its revision belongs to."""
    if probe.place is not None:
        weight, mean, variance = _components_at(under, int(posterior.fold.place[probe.place]))
        if under.of_shares:
            return _information_of_speed(weight, mean)
        if probe.known_image:
            mean, variance = _same_image(posterior, under, probe, mean, variance)
        else:
            mean, variance = _new_image(under.noise, mean, variance)
    else:
        assert probe.gap is not None  # noqa: S101 - a probe has a place or a gap
        weight, mean, variance = _components_inside(
            posterior, search_range, under, probe.gap, probe.kernel
        )
        if under.of_shares:
            return _information_of_speed(weight, mean)
        mean, variance = _new_image(under.noise, mean, variance)
    return mixture_information(weight, mean, np.sqrt(variance))


def _information_of_speed(weight: FloatArray, share: FloatArray) -> float:
    """I(speed of a boot; component) where components differ in their shares of one speed, nats."""
    weight = weight / max(float(weight.sum()), 1e-300)
    every = float(weight @ share)
    return float(entr(every) + entr(1 - every) - weight @ (entr(share) + entr(1 - share)))


def _components_at(under: Posterior, place: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, level's mean and variance of each stretch that holds a measured kernel."""
    box = (slice(0, place + 1), slice(place, None))
    return (
        under.partition.stretch[box].ravel(),
        under.ahead.mean[box].ravel(),
        under.ahead.variance[box].ravel(),
    )


def _components_inside(
    posterior: AveragedPosterior, search_range: SearchRange, under: Posterior, gap: int, kernel: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for a kernel inside a gap: it goes with the left, the right, or spans the gap."""
    old, new = posterior.readings.kernels[gap : gap + 2]
    left_place, right_place = posterior.fold.place[gap : gap + 2].tolist()
    if left_place == right_place:
        return _components_at(under, left_place)
    prior_cdf = search_range.prior_cdf
    right_of_it = float(
        (prior_cdf[new] - prior_cdf[kernel]) / max(prior_cdf[new] - prior_cdf[old], 1e-300)
    )
    span = (slice(0, right_place), slice(right_place, None))
    left = (slice(0, right_place), left_place)
    right = (right_place, slice(right_place, None))
    stretch, mean, variance = under.partition.stretch, under.ahead.mean, under.ahead.variance
    weight = np.concatenate(
        [stretch[span].ravel(), right_of_it * stretch[left], (1 - right_of_it) * stretch[right]]
    )
    pick = (span, left, right)
    return (
        weight,
        np.concatenate([mean[p].ravel() for p in pick]),
        np.concatenate([variance[p].ravel() for p in pick]),
    )


def _new_image(
    noise: SearchNoise, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What the first boot of an image will read, of either speed, given the kernel's level."""
    share, offset = noise.other_share, noise.other_offset
    return mean + share * offset, variance + noise.total**2 + share * (1 - share) * offset**2


def _same_image(
    posterior: AveragedPosterior,
    under: Posterior,
    probe: Probe,
    mean: FloatArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """What another boot of a known image will read, given the kernel's level.

    The image's own level lies between the kernel's and what the image read so far, in the ratio
    of their precisions (normal-normal conjugacy); it is what it read so far if the image lies far
    from its code.
    """
    run, build = under.noise.run**2, under.noise.build**2
    readings = posterior.readings
    at = int(np.flatnonzero((readings.place == probe.place) & (readings.image == probe.image))[0])
    boots = int(readings.boots_of_image[at])
    seen = float(readings.level_of_image[at])
    # Of an image of the other speed the code's level and that offset are expected.
    other = other_odds(readings, under.noise, at, mean, variance)
    offset = under.noise.other_offset
    mean = mean + other * offset
    variance = variance + other * (1 - other) * offset**2
    if build > 0:
        precision = 1 / build + boots / run
        pull = (1 / build) / precision
        near = (pull * mean + (1 - pull) * seen, pull**2 * variance + 1 / precision + run)
    else:
        near = (mean, variance + run)
    if not under.noise.far:
        return near
    odds = far_odds(readings, under.noise, at, mean, variance)
    far_variance = run * (1 + 1 / boots)
    share = odds / (1 + odds)
    expected = (1 - share) * near[0] + share * seen
    spread = (1 - share) * near[1] + share * far_variance
    return expected, spread + share * (1 - share) * (near[0] - seen) ** 2


def mixture_information(weight: FloatArray, mean: FloatArray, sd: FloatArray) -> float:
    """I(y; component) of a mixture of normals, by Gauss-Hermite nodes in each component.

    A share of the values are outliers, which bounds how much any value can tell.
    """
    heavy = np.flatnonzero(weight > _LEAST_WEIGHT)
    top = heavy[np.argsort(-weight[heavy], kind="stable")[:_MOST_COMPONENTS]]
    weight, mean, sd = weight[top] / weight[top].sum(), mean[top], sd[top]
    y = mean[:, None] + sd[:, None] * _NODES
    z = (y[:, :, None] - mean) / sd
    density = (1 - constants.OUTLIER_SHARE) / np.sqrt(2 * np.pi) * np.exp(-0.5 * z * z) / sd
    density += constants.OUTLIER_SHARE / constants.OUTLIER_SPAN
    own = np.diagonal(density, axis1=0, axis2=2)
    log_ratio = np.log(own.T) - np.log(density @ weight)
    return float((1 - constants.OUTLIER_SHARE) * weight @ (log_ratio @ _NODE_WEIGHTS))


# Chosen: C(d) comes out to five digits at any d.
_NODES_OF_SIDE = 64
# Chosen: what the noise of a series is guessed wrong by; a search that moves leaves boots behind.
_CLEARLY_CHEAPER = 1.25
# Bits beyond log2 n: an error of 1 % and the levels themselves; `make bench` has 14 boots for
# n = 1600, d = 10, where log2 n is 10.6.
_BITS_OF_LEVELS = 4.0


def bits_per_boot(effect: float, sigma_run: float, sigma_build: float = 0.0) -> float:
    """What one boot of one image says of the side of a step, in bits, 0 to 1.

    `effect` is a fraction of the level, of either sign; the sigmas are standard deviations
    between boots of one image and between images of one code, fractions as well.
    """
    noise = math.hypot(sigma_run, sigma_build)
    step = abs(math.log1p(max(effect, -0.999)))
    if noise == 0:
        return 1.0 if step else 0.0
    d = min(step / noise, 40.0)  # beyond that it is one bit to the last digit
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES_OF_SIDE)
    lost = np.logaddexp2(0.0, -d * (d / 2 + nodes) / math.log(2))
    return float(np.clip(1 - np.sum(weights * lost) / np.sum(weights), 0.0, 1.0))


def information_per_second(
    effect: float, *, sigma_run: float, sigma_build: float, boot_s: float, run_s: float
) -> float:
    """The score of a series, in bits per second of its testbed."""
    return bits_per_boot(effect, sigma_run, sigma_build) / max(boot_s + run_s, 1e-9)


def bits_to_find(commits: int) -> float:
    """What a search of so many commits has to learn, in bits."""
    return math.log2(max(commits, 1)) + _BITS_OF_LEVELS


def is_worth_moving(*, here: float, there: float, spent_s: float, commits: int) -> bool:
    """Whether a search ends clearly sooner elsewhere; scores are in bits per second."""
    if there <= 0:
        return False
    bits = bits_to_find(commits)
    left_s = max(bits / here - spent_s, 0.0) if here > 0 else math.inf
    return left_s > _CLEARLY_CHEAPER * bits / there
