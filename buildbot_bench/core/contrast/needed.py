"""The numbers of images and boots that separate a difference from luck.

Without far images, the difference of two sides of m images with n boots each has the standard error

    s(m) = sqrt(2/m · (sigma_build² + sigma_run²/n))

and Student's t with nu = df_build + 2(m - 1) degrees of freedom. A difference d is significant when
d/s exceeds the quantile of `sure_at(m)`. As estimates fall short of d in half of all comparisons,
the first images are chosen to separate a share FOUND_AT_FIRST of them: the least m with

    d >= (t(sure_at(m); nu) + z(FOUND_AT_FIRST)) · s(m).

Repeated looks add up errors. With looks at m, m/2, m/4 … images, each allowed m/SURE_FROM of the
last look's error, all looks together err at most twice as often as the last one.
"""

import math
from dataclasses import dataclass, replace

from scipy.special import ndtri, stdtrit

from buildbot_bench.core.contrast.denial import is_beyond_layout
from buildbot_bench.core.contrast.difference import Difference
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.learn import is_build_noise_learnt
from buildbot_bench.core.model.noise import MIN_SIGMA, Noise, wider_build

MOST = 99
"""Images or boots of a side beyond which no number is told."""

_TWO = 2  # images of each side below BEYOND_LAYOUT; boots of an image, as one may go wrong
_MOST_BOOTS = 5  # of an image: as many as a usual sample has
_RUN_SHARE = 2.0  # boots add no more than half as much variance as images
_CHEAP = 2  # boots of images that exist are worth half of those whose images are to be built
_NEAR = 0.25  # of min_effect: a difference that near to it may turn out on either side
_EVEN = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class MoreOfEach:
    """About so many boots more of each side, dealt to so many further images, or to those known."""

    boots: int
    images: int


def has_layout(noise: Noise) -> bool:
    """Whether images of one code differ at all; those of counted metrics do not."""
    return noise.far_share > 0 or noise.sigma_build > MIN_SIGMA


def sure_at(images: int) -> float:
    """How sure a sign must be on so many images of each side, if further ones can be made."""
    return 1 - (1 - constants.LAST_LOOK_SURE) * min(1.0, images / constants.SURE_FROM)


def boots_of_image(noise: Noise) -> int:
    """So many boots of an image that images rather than boots are what differs."""
    if not has_layout(noise):
        return _MOST_BOOTS
    ratio = _RUN_SHARE * (noise.sigma_run / max(noise.sigma_build, MIN_SIGMA)) ** 2
    return min(max(_TWO, math.ceil(min(ratio, _MOST_BOOTS))), _MOST_BOOTS)


def images_needed(effect: float, noise: Noise) -> int:
    """How many images of each side tell an effect (a fraction of the base), at most MOST.

    Each with `boots_of_image` boots. Two are the fewest below BEYOND_LAYOUT.
    """
    if not has_layout(noise):
        return 1
    reach = abs(math.log1p(effect))
    fewest = 1 if is_beyond_layout(reach) else _TWO
    return max(fewest, _images(reach, noise, None, constants.FOUND_AT_FIRST))


def more_needed(
    seen: Difference,
    noise: Noise,
    *,
    min_effect: float,
    sure_of_less: float,
    images: bool,
    sure: float | None = None,
    least_images: int = 1,
) -> MoreOfEach | None:
    """Return what would turn `seen` into a verdict; None if nothing that can be made would.

    A change is to be separated from nothing with the probability `sure` (None: `sure_at`), less
    than one from a change with `sure_of_less`. `images` tells whether further ones can be made, and
    would help; then each side gets at least `least_images`, and one more where images contradict.
    """
    needs = _by_variance(seen, noise, min_effect, (sure, sure_of_less), images=images)
    if not images or not (seen.contradicted or seen.fewest_images < least_images):
        return needs
    boots = max(boots_of_image(noise), constants.BOOTS_THAT_DENY if seen.contradicted else 0)
    if needs is None or not needs.images:
        return MoreOfEach(boots=boots, images=1)
    return MoreOfEach(boots=max(needs.boots, boots), images=needs.images)


def _by_variance(
    seen: Difference,
    noise: Noise,
    min_effect: float,
    wanted: tuple[float | None, float],
    *,
    images: bool,
) -> MoreOfEach | None:
    known = replace(  # with what these images and boots teach
        noise,
        sigma_run=seen.run,
        sigma_build=seen.build,
        df_run=seen.df_run,
        df_build=seen.df_build,
    )
    boots = boots_of_image(known)
    middle, relevant = abs(seen.quantile(_EVEN)), math.log1p(min_effect)
    sure = wanted[0] if middle >= relevant else wanted[1]
    reach = told_apart_at(middle, relevant)
    fewest = seen.fewest_images
    further = max(1, _images(reach, known, sure, _EVEN) - fewest)
    at_hand = sure_at(fewest) if images else constants.VERDICT_SURE
    same = _boots_alone(reach, known, seen, sure or at_hand)
    if images and seen.of_images >= _EVEN:
        same = None
    if same is not None and (not images or same <= _CHEAP * further * boots):
        return MoreOfEach(boots=min(same, MOST), images=0)
    if not images:
        return None
    return MoreOfEach(boots=min(further * boots, MOST), images=min(further, MOST))


def told_apart_at(seen: float, relevant: float) -> float:
    """How far half an interval may reach: a change to nothing, and what is less to a change."""
    return seen if seen >= relevant else max(relevant - seen, _NEAR * relevant)


def next_of_each(needs: MoreOfEach, have: MoreOfEach) -> MoreOfEach:
    """What to measure next on the way to `needs`: no more than what both sides have already.

    What is needed is a guess until it is measured, so that it is looked again on the way.
    """
    images = min(needs.images, max(have.images, 1))
    if not needs.images:
        return MoreOfEach(boots=min(needs.boots, max(have.boots, 1)), images=0)
    return MoreOfEach(boots=math.ceil(needs.boots * images / needs.images), images=images)


def _images(reach: float, noise: Noise, sure: float | None, found: float) -> int:
    """The least number of images of each side at which `reach` is separated; None is `sure_at`."""
    if reach <= 0:
        return MOST
    boots = boots_of_image(noise)
    for images in range(1, MOST):
        df = noise.df_build + 2 * (images - 1)
        variance = _build_variance(noise, images) + noise.sigma_run**2 / boots
        quantiles = float(stdtrit(df, sure or sure_at(images))) + float(ndtri(found))
        if quantiles * math.sqrt(2 * variance / images) <= reach:
            return images
    return MOST


def _build_variance(noise: Noise, images: int) -> float:
    """That of images; where it is assumed, it may be wider until images teach it."""
    told = noise.sigma_build**2
    if is_build_noise_learnt(noise):
        return told
    wider = wider_build(noise.sigma_build, noise.sigma_run) ** 2
    expected = told + constants.WIDER_WEIGHT * (wider - told)
    taught = 2.0 * (images - 1)
    return (noise.df_build * expected + taught * told) / (noise.df_build + taught)


def _boots_alone(reach: float, noise: Noise, seen: Difference, sure: float) -> int | None:
    """How many boots more of each side's images do it; None if these leave too much to luck."""
    error = reach / float(stdtrit(noise.df_run, sure))
    layout = noise.sigma_build**2 * sum(1 / len(side) for side in seen.sides)
    left = error**2 - layout
    if has_layout(noise) and left <= 0:
        return None
    needed = math.ceil(min(2 * noise.sigma_run**2 / max(left, MIN_SIGMA**2), 10 * MOST))
    return max(1, needed - min(sum(image.boots for image in side) for side in seen.sides))
