"""Changes that people marked, as the judge and the noise of a history take them into account."""

from collections.abc import Sequence

from buildbot_bench.core.judge.images import Image
from buildbot_bench.core.judge.model import JudgePolicy, Said, Settled
from buildbot_bench.core.judge.segment import agree, parted
from buildbot_bench.core.model.learn import learn
from buildbot_bench.core.model.noise import Noise
from buildbot_bench.core.model.spread import with_marked_noise
from buildbot_bench.core.sample import Sample


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
