"""The return to testable of an image that was built once and later taken for untestable."""

from __future__ import annotations

from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import ImageState
from buildbot_bench.plugin.farm import Farm


async def revived(farm: Farm, image: ImageRow) -> ImageRow | None:
    """An image that was built once, testable again, and to be built anew if its artefact is gone.

    Any other stays as it is. None when another one changed it meanwhile.
    """
    if image.digest is None or image.state is not ImageState.UNTESTABLE:
        return image
    there = {row.digest for row in await farm.store.artefacts()}
    state = ImageState.BUILT if image.digest in there else ImageState.WANTED
    return await farm.store.change(image, changed_at=farm.now(), state=state, attempt=0)
