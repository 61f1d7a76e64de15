"""The images at the current level of a series, and what people marked among its changes.

The newest images are compared with them.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from buildbot_bench.core.contrast.denial import is_beyond_layout
from buildbot_bench.core.judge.finding import Finding, strongest
from buildbot_bench.core.judge.images import Image, fresh_boots, row, screened_at_s
from buildbot_bench.core.judge.model import JudgePolicy, Said, Settled
from buildbot_bench.core.model import constants
from buildbot_bench.core.model.image_luck import PlacedImage, strays
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise, with_marked_noise
from buildbot_bench.core.sample import Sample

_SOON = (
    5  # positions that show whether the level is what it was; fewer than are looked at for changes
)
_MAJORITY = 3  # images of which one that is far off is told from the others
_STRAYS = 4.0  # standard deviations: a normal image strays as far once in 16 000
_EVEN = 0.5  # the probability to be far above which an image is left out


def segment_of(
    images: Sequence[Image], noise: Noise, policy: JudgePolicy, settled: Sequence[Settled]
) -> tuple[Image, ...]:
    """The images to compare with each other, the newest position's among them, all of these."""
    position = images[-1].position
    known = [image for image in images if image.position < position]
    for one in _before(position, settled):
        older, since = parted(known, one.began)
        after = [image for image in since if image.position > one.judged]
        returned = _is_lone(one) and agree(older, after, noise, policy)
        known = [*older, *after] if returned else since
    newest = [image for image in images if image.position == position]
    kept = _without_far([*known, *newest], noise)
    return kept[_unjudged(kept, noise, policy) :]


def is_return(
    finding: Finding,
    images: Sequence[Image],
    noise: Noise,
    policy: JudgePolicy,
    settled: Sequence[Settled],
) -> bool:
    """Whether the newest level is that from before the last settled change, within luck.

    Where one revision alone showed that change, luck with all of its images explains both the
    change and the return: to tell the return as well would be one false mail more.
    """
    earlier = _before(images[-1].position, settled)
    if not earlier or not _is_lone(earlier[-1]) or finding.old_side.positions > 1:
        return False
    if is_beyond_layout(finding.difference) or not finding.old_side.luck:
        return False
    older, since = parted(images, earlier[-1].began)
    if len(earlier) > 1:
        _, older = parted(older, earlier[-2].began)
    newest = [image for image in since if image.position == images[-1].position]
    return agree(older, newest, noise, policy)


def typical_newest(images: Sequence[Image], noise: Noise) -> tuple[Image, ...]:
    """The images without those of the newest position that lie far off its others.

    They vote on whether there was a change; how large it was they do not tell. Of fewer than three
    images nobody knows which one is far off.
    """
    newest = [image for image in images if image.position == images[-1].position]
    if len(newest) < _MAJORITY:
        return tuple(images)
    far = set()
    for image in newest:
        others = [other.level for other in newest if other is not image]
        variance = noise.sigma_build**2 * (1 + 1 / len(others)) + image.variance
        if abs(image.level - median(others)) > _STRAYS * math.sqrt(variance):
            far.add(image.image)
    return tuple(image for image in images if image not in newest or image.image not in far)


def _before(position: int, settled: Sequence[Settled]) -> list[Settled]:
    earlier = (one for one in settled if one.judged < position and not one.small)
    return sorted(earlier, key=lambda one: one.judged)


def parted(images: Sequence[Image], began: int) -> tuple[list[Image], list[Image]]:
    """Those before a position, and those from there on."""
    return (
        [image for image in images if image.position < began],
        [image for image in images if image.position >= began],
    )


def _is_lone(one: Settled) -> bool:
    """Whether one revision alone showed it."""
    return one.began == one.judged


def agree(
    before: Sequence[Image], after: Sequence[Image], noise: Noise, policy: JudgePolicy
) -> bool:
    """Whether images of some positions do not differ from those of a few that came later."""
    positions = sorted({image.position for image in after})[:_SOON]
    if not before or not positions:
        return False
    soon = [image for image in after if image.position <= positions[-1]]
    segment = _without_far([*before[-constants.MEMORY :], *soon], noise)
    levels = row(segment, noise, policy.min_effect)
    return levels.length > 1 and strongest(segment, levels, 0, levels.length) is None


def _without_far(images: Sequence[Image], noise: Noise) -> tuple[Image, ...]:
    """Without those that lie far off.

    The newest position is what is judged, and what was booted again since tells of today's lab.
    """
    position = images[-1].position
    since_s = screened_at_s([image for image in images if image.position == position])
    placed = [
        PlacedImage(position=image.position, logs=np.array([boot.log for boot in image.boots]))
        for image in images
    ]
    off = strays(placed, noise.sigma_run, noise.sigma_build, noise.df_build, noise.far_share)
    return tuple(
        image
        for image, stray in zip(images, off, strict=True)
        if stray < _EVEN or image.position == position or _is_booted_since(image, since_s)
    )


def _is_booted_since(image: Image, since_s: float) -> bool:
    return since_s > 0 and bool(fresh_boots(image, since_s))


def _unjudged(images: Sequence[Image], noise: Noise, policy: JudgePolicy) -> int:
    """The number of the first image since the last change that is too old to be judged."""
    needed = math.log(policy.evidence_needed)
    older = [image for image in images if image.position < images[-1].position]
    if not older:
        return 0
    levels = row(older, noise, policy.min_effect)
    start = 0
    while True:
        ends = np.flatnonzero(levels.log_totals(start) >= needed)
        changes = (strongest(older, levels, start, int(end)) for end in ends if end > start)
        bygone = (
            change
            for change in changes
            if change is not None and change.start <= levels.length - constants.RECENT
        )
        if (change := next(bygone, None)) is None:
            return levels.index(start)
        start = change.start


def since_expected(
    history: Sequence[Sample], position: int, settled: Sequence[Settled]
) -> list[Sample]:
    """The samples of a history that may be compared with one at `position`.

    Behind an expected change these are the ones that surely have the new level; a sample within the
    doubt about its place is compared with that stretch alone. The same samples without such a mark.
    """
    first = max(
        (
            mark.judged if mark.judged <= position else mark.began
            for mark in settled
            if mark.said is Said.EXPECTED and mark.began <= position
        ),
        default=None,
    )
    return [sample for sample in history if first is None or sample.position >= first]


def noise_marks(settled: Sequence[Settled], position: int) -> list[Settled]:
    """The changes up to a position that were marked as noise, in their order."""
    found = [mark for mark in settled if mark.said is Said.NOISE and mark.began <= position]
    return sorted(found, key=lambda mark: (mark.began, mark.judged))


def known_noise(
    images: Sequence[Image],
    noise: Noise,
    policy: JudgePolicy,
    settled: Sequence[Settled],
) -> Settled | None:
    """The mark by which the newest position's level is no change; None without one.

    Either that position is where noise was marked, or its images do not differ from those on one of
    both sides of the mark.
    """
    position = images[-1].position
    newest = [image for image in images if image.position == position]
    known = [image for image in images if image.position < position]
    for mark in reversed(noise_marks(settled, position)):
        if mark.began <= position <= mark.judged:
            return mark
        if any(agree(side, newest, noise, policy) for side in _sides(known, mark, settled) if side):
            return mark
    return None


def _sides(
    images: Sequence[Image], mark: Settled, settled: Sequence[Settled]
) -> tuple[list[Image], list[Image]]:
    """The images on both sides of a mark: up to the changes next to it, as far as these are known.

    Those in the doubt about its place are on neither.
    """
    older, newer = parted(images, mark.began)
    earlier = [one.began for one in settled if one.began < mark.began]
    later = [one.began for one in settled if one.began > mark.judged]
    if earlier:
        _, older = parted(older, max(earlier))
    if later:
        newer, _ = parted(newer, min(later))
    surely = [image for image in newer if image.position >= mark.judged]
    return older, surely


def noise_by_marks(history: Sequence[Sample], marks: Sequence[Settled]) -> tuple[Noise, Noise]:
    """The noise of a history without marks, and with them."""
    noise = learn(history)
    last = max((sample.position for sample in history), default=0)
    places = [(mark.began, mark.judged) for mark in noise_marks(marks, last)]
    return noise, with_marked_noise(noise, history, places)


def describe_marks(
    settled: Sequence[Settled],
    labels: Mapping[int, str],
    spread: tuple[Noise, Noise],
    *,
    workload: str,
    testbed: str,
) -> tuple[str, ...]:
    """One sentence for each change that somebody marked, in their order.

    `labels` are commits' names by position, `spread` the noise without the marks and with them.
    """
    return tuple(
        _sentence(one, labels.get(one.began, f"#{one.began}"), spread, f"{workload} on {testbed}")
        for one in settled
        if one.said is not None
    )


def _sentence(one: Settled, label: str, spread: tuple[Noise, Noise], series: str) -> str:
    by = f" by {one.author}" if one.author else ""
    if one.said is Said.EXPECTED:
        return f"{label} was marked as expected{by}. Later commits are compared with its level."
    without, given = (f"{100 * noise.sigma_build:.2f} %" for noise in spread)
    return (
        f"{label} was marked as noise{by}. The spread of builds of {series} is {given} with it "
        f"and {without} without it."
    )
