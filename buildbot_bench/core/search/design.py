"""Which iteration tells most for its cost; knows candidates and costs, not when to stop.

A candidate's worth is the mutual information between its value and the stretch that its revision
belongs to: the entropy of what we expect to read, less what would be left if we knew the stretch
(Lindley, "On a measure of the information provided by an experiment", 1956). A value that all
likely partitions predict alike is worth nothing, however noisy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from buildbot_bench.core.search.belief import Belief
from buildbot_bench.core.search.ground import FloatArray, Ground
from buildbot_bench.core.search.model import Costs
from buildbot_bench.core.search.noise_model import OUTLIER_SHARE, OUTLIER_SPAN
from buildbot_bench.core.search.views import View

# Of the prior mass inside a gap, where kernels are tried: the median halves it; the others are
# chosen about it, for where it is broken or another kernel is cheaper.
_QUANTILES = (0.5, 0.4, 0.6, 0.25, 0.75)
# Of a mixture whose information is computed: the heaviest components, and the least weight of one.
# Chosen for speed: the time grows with the square of their number.
_MOST_COMPONENTS = 12
_LEAST_WEIGHT = 1e-5
# Commits: broken kernels that lie this near each other are of one breakage.
_SAME_BREAKAGE = 8
# Of many images of one kernel, those that were booted least are worth another boot.
_IMAGES_TO_BOOT = 3
# Builds go on beside boots, and many are made ahead: this share of a build's time is waited for.
_BUILD_FELT = 0.03
# Views of the noise by which a probe is judged: the likeliest ones, for each doubles the time.
_VIEWS = 2
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


def probes_at(belief: Belief, ground: Ground, costs: Costs, place: int) -> list[Probe]:
    """Boot each image of a measured kernel again, or build it anew if that makes another one."""
    readings = belief.readings
    kernel = int(readings.kernels[place])
    if ground.ask[kernel] < 0:
        return []
    boot = costs.boot_s + costs.run_s
    here = readings.place == place
    rarest = np.argsort(readings.boots_of_image[here], kind="stable")[:_IMAGES_TO_BOOT]
    again = [
        Probe(kernel=kernel, image=int(i), cost_s=boot, place=place, known_image=True)
        for i in readings.image[here][rarest]
    ]
    if not ground.images:
        return again if readings.boots_of_image[here].sum() < ground.most_boots else []
    anew = readings.next_image(place)
    return [
        *again,
        Probe(kernel=kernel, image=anew, cost_s=boot + _BUILD_FELT * costs.build_s, place=place),
    ]


def probes_inside(belief: Belief, ground: Ground, costs: Costs, gap: int) -> list[Probe]:
    """Kernels inside a gap: near the quantiles of the prior, and built ones near its median."""
    old, new = (int(k) for k in belief.readings.kernels[gap : gap + 2])
    inside = ground.candidates(old, new)
    if not len(inside):
        return []
    mass = ground.mass[inside]
    low, high = ground.mass[old], ground.mass[new]
    wanted = {int(inside[np.argmin(np.abs(mass - (low + q * (high - low))))]) for q in _QUANTILES}
    ready = inside[ground.built[inside]]
    if len(ready):
        at = np.argsort(np.abs(ground.mass[ready] - 0.5 * (low + high)), kind="stable")
        wanted.update(int(k) for k in ready[at[:2]])
    wanted.update(_off_the_broken(ground, inside))
    boot = costs.boot_s + costs.run_s
    return [
        Probe(
            kernel=kernel,
            image=0,
            cost_s=boot if ground.built[kernel] else boot + _BUILD_FELT * costs.build_s,
            gap=gap,
            success=1.0 if ground.built[kernel] else _success(ground, old, new, kernel),
        )
        for kernel in sorted(wanted)
    ]


def _off_the_broken(ground: Ground, inside: np.ndarray) -> list[int]:
    """A few kernels at growing distance from the broken ones around the middle."""
    if not ground.broken[inside[0] : inside[-1] + 1].any():
        return []
    middle = len(inside) // 2
    offsets = [sign * 2**k for k in range(11) for sign in (1, -1)]
    return [int(inside[middle + o]) for o in offsets if 0 <= middle + o < len(inside)]


def _success(ground: Ground, old: int, new: int, kernel: int) -> float:
    """P(the kernel is testable), lower next to broken ones.

    Breakage comes in spans of unknown length. By Lindy's law a span seen to be L long goes on for
    another d with probability about L / (L + d).
    """
    broken = old + 1 + np.flatnonzero(ground.broken[old + 1 : new])
    if not len(broken):
        return 1.0
    nearest = int(broken[np.argmin(np.abs(broken - kernel))])
    span = 1 + np.count_nonzero(np.abs(broken - nearest) <= _SAME_BREAKAGE)
    distance = abs(kernel - nearest)
    return float(distance / (distance + 0.5 * span))


def best(
    belief: Belief, ground: Ground, probes: list[Probe], *, least: float = 0.0
) -> Probe | None:
    """The probe with the most information per second, of those with at least `least` nats."""
    views = belief.views[:_VIEWS]
    worth = np.zeros(len(probes))
    for view in views:
        worth += view.weight * np.array([_information(belief, ground, view, p) for p in probes])
    worth /= sum(v.weight for v in views)
    rate = worth * [p.success / max(p.cost_s, 1e-9) for p in probes]
    if not len(rate):
        return None
    chosen = int(np.argmax(rate))
    return probes[chosen] if worth[chosen] >= least else None


def _information(belief: Belief, ground: Ground, view: View, probe: Probe) -> float:
    """Mutual information (nats) of the probe's value and the stretch its revision belongs to."""
    if probe.place is not None:
        weight, mean, variance = _components_at(view, probe.place)
        if probe.known_image:
            mean, variance = _same_image(belief, view, probe, mean, variance)
        else:
            variance = variance + view.noise.total**2
    else:
        assert probe.gap is not None  # noqa: S101 - a probe has a place or a gap
        weight, mean, variance = _components_inside(belief, ground, view, probe.gap, probe.kernel)
        variance = variance + view.noise.total**2
    return mixture_information(weight, mean, np.sqrt(variance))


def _components_at(view: View, place: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, level's mean and variance of each stretch that holds a measured kernel."""
    box = (slice(0, place + 1), slice(place, None))
    return (
        view.partition.stretch[box].ravel(),
        view.ahead.mean[box].ravel(),
        view.ahead.variance[box].ravel(),
    )


def _components_inside(
    belief: Belief, ground: Ground, view: View, gap: int, kernel: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same for a kernel inside a gap: it goes with the left, the right, or spans the gap."""
    old, new = belief.readings.kernels[gap : gap + 2]
    mass = ground.mass
    right_of_it = float((mass[new] - mass[kernel]) / max(mass[new] - mass[old], 1e-300))
    span = (slice(0, gap + 1), slice(gap + 1, None))
    left = (slice(0, gap + 1), gap)
    right = (gap + 1, slice(gap + 1, None))
    stretch, mean, variance = view.partition.stretch, view.ahead.mean, view.ahead.variance
    weight = np.concatenate(
        [stretch[span].ravel(), right_of_it * stretch[left], (1 - right_of_it) * stretch[right]]
    )
    pick = (span, left, right)
    return (
        weight,
        np.concatenate([mean[p].ravel() for p in pick]),
        np.concatenate([variance[p].ravel() for p in pick]),
    )


def _same_image(
    belief: Belief, view: View, probe: Probe, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What another boot of a known image will read, given the kernel's level.

    The image's own level lies between the kernel's and what the image read so far, in the ratio
    of their precisions (normal-normal conjugacy).
    """
    run, build = view.noise.run**2, view.noise.build**2
    if build <= 0:
        return mean, variance + run
    readings = belief.readings
    at = np.flatnonzero((readings.place == probe.place) & (readings.image == probe.image))[0]
    first = readings.first_of_image[at]
    values = readings.values[first : first + readings.boots_of_image[at]]
    precision = 1 / build + len(values) / run
    share = (1 / build) / precision
    expected = share * mean + (1 - share) * float(np.median(values))
    return expected, share**2 * variance + 1 / precision + run


def mixture_information(weight: FloatArray, mean: FloatArray, sd: FloatArray) -> float:
    """I(y; component) of a mixture of normals, by Gauss-Hermite nodes in each component.

    A share of the values are outliers, which bounds how much any value can tell.
    """
    heavy = np.flatnonzero(weight > _LEAST_WEIGHT)
    top = heavy[np.argsort(-weight[heavy], kind="stable")[:_MOST_COMPONENTS]]
    weight, mean, sd = weight[top] / weight[top].sum(), mean[top], sd[top]
    y = mean[:, None] + sd[:, None] * _NODES
    z = (y[:, :, None] - mean) / sd
    density = (1 - OUTLIER_SHARE) / np.sqrt(2 * np.pi) * np.exp(-0.5 * z * z) / sd
    density += OUTLIER_SHARE / OUTLIER_SPAN
    own = np.diagonal(density, axis1=0, axis2=2)
    log_ratio = np.log(own.T) - np.log(density @ weight)
    return float((1 - OUTLIER_SHARE) * weight @ (log_ratio @ _NODE_WEIGHTS))
