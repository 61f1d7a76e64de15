"""Which images count for a search that carries a fix along; it asks for none."""

from __future__ import annotations

from collections.abc import Iterable

from buildbot_bench.core.report import Carried
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, RevisionRange
from buildbot_bench.core.variant import Recipe
from buildbot_bench.history import Fit
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.farm import Farm


def patched(search: SearchRow, sha: str) -> str:
    """What an image of a revision with the search's fix is called in the tables."""
    return Recipe(sha=sha, patches=(search.fix_patch or "",)).text


async def images_for(
    farm: Farm, search: SearchRow, span: RevisionRange, images: Iterable[ImageRow]
) -> dict[int, ImageRow]:
    """Those images of a range that the search would build, by their ids.

    A plain image counts where the fix is in, or does not fit.
    """
    first = span.old.position
    ours = [image for image in images if image.sha == span.revisions[image.position - first].sha]
    plain = {image.id: image for image in ours if image.variant == image.sha}
    if search.fix_sha is None:
        return plain
    with_fix = {image.id: image for image in ours if image.variant == patched(search, image.sha)}
    shas = tuple(dict.fromkeys(image.sha for image in plain.values()))
    fits = await farm.git(farm.fits, search.fix_sha, shas)
    without = {n: image for n, image in plain.items() if fits[image.sha] is not Fit.FITS}
    return without | with_fix


async def carried(farm: Farm, search: SearchRow, images: Iterable[ImageRow]) -> Carried | None:
    """What became of a search's fix in the images that it built; None without one."""
    if search.fix_sha is None:
        return None
    built = list(images)
    fits = await farm.git(farm.fits, search.fix_sha, tuple(image.sha for image in built))
    misfits = [image for image in built if fits[image.sha] is Fit.NOT]
    return Carried(
        fix=search.fix_sha[:ABBREVIATION_LENGTH],
        applied=len({image.sha for image in built if fits[image.sha] is Fit.FITS}),
        left_out=tuple(dict.fromkeys(image.label for image in misfits)),
    )
