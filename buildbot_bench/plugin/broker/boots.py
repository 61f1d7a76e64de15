"""How a search asks for boots and for images ahead of them; what it asks for, it decides itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count

from buildbot_bench.core.revision import ABBREVIATION_LENGTH, Revision
from buildbot_bench.core.search import Measure
from buildbot_bench.history import Fit
from buildbot_bench.plugin.broker.ask import Plain, ask_image, ask_probe
from buildbot_bench.plugin.broker.hands import Hands
from buildbot_bench.plugin.broker.priority import Priority
from buildbot_bench.plugin.carrying import patched
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import ImageState, ProbeReason
from buildbot_bench.plugin.evidence import Material
from buildbot_bench.plugin.farm import Farm

# A build that ended without an image may be asked for again.
_WITHOUT_IMAGE = frozenset({ImageState.FAILED, ImageState.DROPPED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Boots:
    """The requests of searches, in the farm's tables."""

    farm: Farm
    hands: Hands

    async def ask(
        self,
        search: SearchRow,
        material: Material,
        *,
        position: int,
        serial: int,
        image: int = 0,
        iterations: int = 1,
        priority: Priority = Priority.SEARCH,
        reason: ProbeReason = ProbeReason.SEARCH,
    ) -> None:
        """Ask for iterations of a build of a position; `serial` counts the search's requests."""
        wanted = await built_for(self.farm, search, material.range.revisions[position])
        row = await ask_image(self.farm, wanted, image)
        await ask_probe(
            self.farm,
            f"search:{search.id}:{serial}",
            row,
            testbed=search.testbed,
            workload=search.workload,
            iterations=iterations,
            reason=reason,
            priority=priority,
            search_id=search.id,
        )
        if row.state == ImageState.WANTED:
            await self.hands.make_room(build_s=material.costs.build_s)

    async def build_ahead(self, search: SearchRow, material: Material, wanted: Measure) -> None:
        """Have the builders that idle make what the search will want."""
        asked = {
            image.position - material.range.old.position
            for image in material.images.values()
            if image.ordinal == 0 and image.state not in _WITHOUT_IMAGE
        }
        ahead = [position for position in wanted.prefetch if position not in asked]
        for position in ahead[: max(await self.hands.free_builders(), 0)]:
            revision = material.range.revisions[position]
            await ask_image(self.farm, await built_for(self.farm, search, revision))


async def built_for(farm: Farm, search: SearchRow, revision: Revision) -> Plain:
    """What a search builds of a revision: with its fix where that fits and is not yet in."""
    plain = Plain(sha=revision.sha, position=revision.position, label=revision.label)
    if search.fix_sha is None:
        return plain
    fits = await farm.git(farm.fits, search.fix_sha, (revision.sha,))
    if fits[revision.sha] is not Fit.FITS:
        return plain
    fix = search.fix_sha[:ABBREVIATION_LENGTH]
    return replace(
        plain, label=f"{plain.label}+commit:{fix}", variant=patched(search, revision.sha)
    )


def bootable_image(material: Material, wanted: Measure) -> int:
    """The build that a plan means: a further one that cannot be had is another one's turn."""
    images = images_at(material, wanted.position)
    broken = {image.ordinal for image in images if image.state == ImageState.UNTESTABLE}
    measured = {s.image for s in material.samples if s.position == wanted.position and s.values}
    if wanted.image not in broken:
        return wanted.image
    return next(k for k in count(wanted.image + 1) if k not in broken | measured)


def is_built(material: Material, wanted: Measure) -> bool:
    """Whether the image that a plan means is there to be booted at once."""
    return any(
        (image.ordinal, image.state) == (wanted.image, ImageState.BUILT)
        for image in images_at(material, wanted.position)
    )


def places_of(material: Material, probes: Iterable[ProbeRow]) -> Iterator[tuple[int, int]]:
    """Position and image, in the range's terms, of what some probes boot."""
    for probe in probes:
        if image := material.images.get(probe.image_id):
            yield image.position - material.range.old.position, image.ordinal


def images_at(material: Material, position: int) -> list[ImageRow]:
    """The images of a position of the range."""
    first = material.range.old.position
    return [image for image in material.images.values() if image.position - first == position]
