"""Which further images of a revision can be had: the same code, linked in another order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm

# An order that does not link or boot is another one's turn, so often.
_MOST_BROKEN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Orders:
    """`broken` are the ordinals of images that cannot be had; `alike`: the job makes one order."""

    broken: frozenset[int]
    alike: bool

    @property
    def more(self) -> bool:
        """Whether it makes sense to ask for another image."""
        return not self.alike and len(self.broken) < _MOST_BROKEN

    def next(self, ordinal: int) -> int:
        """The image that is asked for in place of one that may be broken."""
        return next(k for k in count(ordinal) if k not in self.broken)


async def orders_of(farm: Farm, variant: str, position: int) -> Orders:
    """What is known of the images of a variant of the revision at a position."""
    images = await farm.store.all_images_between(position, position)
    return orders_among([image for image in images if image.variant == variant])


def orders_among(images: Sequence[ImageRow]) -> Orders:
    """What these images of one variant tell."""
    gone = (ImageState.UNTESTABLE, ImageState.FAILED)
    return Orders(
        broken=frozenset(
            image.ordinal for image in images if image.ordinal and image.state in gone
        ),
        alike=cannot_relink(images),
    )


def cannot_relink(images: Iterable[ImageRow]) -> bool:
    """Whether a further image of some variant came out as its first: so the job makes them all."""
    known = list(images)
    firsts = {image.variant: image for image in known if image.ordinal == 0}
    return any(is_alike(one, firsts[one.variant]) for one in known if one.variant in firsts)


def is_alike(image: ImageRow, first: ImageRow) -> bool:
    """Whether a further image is the first one again: its boots would tell nothing of layout."""
    return image.ordinal > 0 and image.kernel is not None and image.kernel == first.kernel
