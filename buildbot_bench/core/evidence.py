"""A search's evidence and policy, made of the images and boots of a farm or a local search."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from statistics import median
from typing import Protocol

from buildbot_bench.core.model.learn import learn, rounding_noise
from buildbot_bench.core.model.noise import ARCHIVE, Noise, Prior, spread_of_images
from buildbot_bench.core.sample import NoiseClass, Sample
from buildbot_bench.core.search import Evidence, Measure, Measurement, SearchPolicy


class BuiltImage(Protocol):
    """What tells one build of a variant from another; as `KnownImage` has it."""

    @property
    def ordinal(self) -> int:
        """Which build of it."""

    @property
    def kernel(self) -> str | None:
        """The digest of what was built."""


class KnownImage(BuiltImage, Protocol):
    """One build of a variant of a revision, by the number of its keeper.

    `ordinal` counts the builds of a variant from 0; `kernel` tells by what it does what was built,
    None while that is not known; `build_s` is what the build took, in seconds.
    """

    @property
    def position(self) -> int:
        """Where its revision lies in the history."""

    @property
    def variant(self) -> str:
        """What is built."""

    @property
    def build_s(self) -> float | None:
        """What the build took."""

    @property
    def is_built(self) -> bool:
        """Whether it can be measured at once."""

    @property
    def is_untestable(self) -> bool:
        """Whether its revision does not build or run."""

    @property
    def is_unusable(self) -> bool:
        """Whether it cannot be made, for any reason."""


MAX_FRUITLESS = 3
"""So many iterations in a row, or requests of them, that gave nothing for the lab's fault, are
enough: a search or comparison is not going to end by itself."""

# So many orders that do not link or boot are passed over for the next.
_MOST_BROKEN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Relinks:
    """`broken` are the ordinals of images that cannot be made; `alike`: the job makes one order."""

    broken: frozenset[int]
    alike: bool

    @property
    def more(self) -> bool:
        """Whether it makes sense to ask for another image."""
        return not self.alike and len(self.broken) < _MOST_BROKEN

    def next(self, ordinal: int) -> int:
        """The image that is asked for in place of one that may be broken."""
        return next(k for k in count(ordinal) if k not in self.broken)


def relinks_among(images: Sequence[KnownImage]) -> Relinks:
    """What these images of one variant tell."""
    return Relinks(
        broken=frozenset(image.ordinal for image in images if image.ordinal and image.is_unusable),
        alike=cannot_relink(images),
    )


def cannot_relink(images: Iterable[KnownImage]) -> bool:
    """Whether a further image of some variant came out as its first: so the job makes them all."""
    known = list(images)
    firsts = {image.variant: image for image in known if image.ordinal == 0}
    return any(is_alike(one, firsts[one.variant]) for one in known if one.variant in firsts)


def may_relink(images: Iterable[KnownImage]) -> bool:
    """Whether another image of any revision can be made, by what became of those of the range."""
    of: dict[str, list[KnownImage]] = {}
    for image in images:
        of.setdefault(image.variant, []).append(image)
    return all(relinks_among(own).more for own in of.values())


def is_alike(image: BuiltImage, first: BuiltImage) -> bool:
    """Whether a further image is the first one again: its boots would tell nothing of layout."""
    return image.ordinal > 0 and image.kernel is not None and image.kernel == first.kernel


def usable_image(wanted: Measure, images: Sequence[KnownImage], samples: Iterable[Sample]) -> int:
    """The build that a plan means at a position; in place of one that cannot be made the next."""
    broken = {image.ordinal for image in images if image.is_untestable}
    measured = {s.image for s in samples if s.position == wanted.position and s.values}
    if wanted.image not in broken:
        return wanted.image
    return next(k for k in count(wanted.image + 1) if k not in broken | measured)


def comparable_samples(samples: list[Sample]) -> list[Sample]:
    """Those of the metric and epoch in which the lab measured last."""
    if not samples:
        return []
    newest = max(samples, key=lambda sample: max(i.at_s for i in sample.iterations))
    return [
        sample
        for sample in samples
        if (sample.metric, sample.epoch) == (newest.metric, newest.epoch)
    ]


def evidence_of(images: Iterable[KnownImage], samples: Iterable[Sample], first: int) -> Evidence:
    """What images and comparable samples tell of a range that begins at position `first`."""
    plain = {image.position - first: image for image in images if image.ordinal == 0}
    kernels = {p: image.kernel for p, image in plain.items() if image.kernel}
    untestable = frozenset(p for p, image in plain.items() if image.is_untestable)
    return Evidence(
        measurements=tuple(
            Measurement(
                position=sample.position - first,
                value=iteration.value,
                image=sample.image,
                at_s=iteration.at_s,
            )
            for sample in samples
            for iteration in sample.iterations
            if iteration.value is not None
        ),
        untestable=untestable,
        built=frozenset(p for p, image in plain.items() if image.is_built),
        same_as_previous=frozenset(p for p, k in kernels.items() if kernels.get(p - 1) == k),
        same_across=_same_across(kernels, untestable),
    )


def _same_across(kernels: Mapping[int, str], untestable: Collection[int]) -> frozenset[int]:
    """The testable positions with the kernel of the last testable one, untestable ones between."""
    found = set()
    for position, kernel in kernels.items():
        before = position - 1
        while before in untestable:
            before -= 1
        apart = before < position - 1 and position not in untestable
        if apart and kernels.get(before) == kernel:
            found.add(position)
    return frozenset(found)


def usual_build_s(images: Iterable[KnownImage], assumed: float) -> float:
    """The median of what builds took, in seconds; what is assumed while there is none."""
    builds = [image.build_s for image in images if image.build_s is not None]
    return median(builds) if builds else assumed


def _assumed(min_effect: float) -> Prior:
    """What to expect of a testbed that was never seen: not more noise than what is asked of it."""
    return replace(
        ARCHIVE,
        sigma_run=min(ARCHIVE.sigma_run, min_effect),
        sigma_build=min(ARCHIVE.sigma_build, min_effect),
    )


def policy_of(
    terms: SearchPolicy,
    history: Sequence[Sample],
    *,
    first: int,
    images: bool,
    randomised: bool = False,
) -> SearchPolicy:
    """How a search of some terms is to be made, by what was measured; `history` is comparable.

    Its positions are those of `first`, the range's old end; `images` is whether further images of
    a revision can be made. `randomised` is whether each iteration has another size of environment
    and other addresses (lab.command.randomised): where no other image can be made, that luck with
    layout is in the noise then. Luck with the link order is not; a report's check says that it is
    not separated. Nor is it learnt from neighbours: most that are measured lie beside a step, and
    the step would pass for luck.
    """
    noise = noise_of(history, min_effect=terms.min_effect)
    within = [sample for sample in history if sample.position >= first]
    # Layout moves no instruction: another image tells nothing of a metric that is counted.
    counted = any(sample.metric.noise is NoiseClass.EXACT for sample in history)
    in_noise = randomised and not (images or counted)
    return replace(
        terms,
        higher_is_better=all(sample.metric.higher_is_better for sample in history),
        sigma_run=noise.sigma_run,
        sigma_build=noise.rounding if in_noise else spread_of_images(within, noise),
        far_share=noise.far_share,
        images=images and not counted,
        layout=not (counted or in_noise),
        counted=counted,
        spells=randomised and not counted,
        rounding=rounding_noise(noise.resolution),
    )


def noise_of(history: Sequence[Sample], *, min_effect: float) -> Noise:
    """What the history of a series tells of its noise, or what is assumed before there is any."""
    return learn(history, prior=ARCHIVE if history else _assumed(min_effect))
