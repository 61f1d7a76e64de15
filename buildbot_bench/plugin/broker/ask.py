"""Requests for images and boots, their priorities, and the room that builders have."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Any
from uuid import uuid4

from buildbot_bench.api.answers import AbTestState, ProbeState
from buildbot_bench.core.evidence import usable_image
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.revision import ABBREVIATION_LENGTH, Revision, repository_of
from buildbot_bench.core.search import PREBUILT, Measure
from buildbot_bench.core.variant import Recipe
from buildbot_bench.history import Fit
from buildbot_bench.plugin.db.columns import OPEN_PROBES, UNBUILT, ImageState, Priority, ProbeReason
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRequest, ProbeRow, SeriesName
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import branch_of_commit, is_watched, testbed_of
from buildbot_bench.plugin.queries.evidence import SearchInputs, patched
from buildbot_bench.plugin.queries.incidents import is_of_improvement


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildTarget:
    """A revision: what it is called, where it stands and, if it is not plain, how it is changed.

    `repository` is what the branches of its repository have in front.
    """

    sha: str
    position: int
    label: str
    variant: str = ""
    repository: str = ""


def target_of(revision: Revision, branch: str) -> BuildTarget:
    """A revision as it is, of a branch's repository."""
    return BuildTarget(**shared(BuildTarget, revision), repository=repository_of(branch))


# What whoever asks brings back to life.
_ASLEEP = frozenset({ImageState.FAILED, ImageState.DROPPED, ImageState.HELD})


async def ask_image(
    farm: Farm, revision: BuildTarget, ordinal: int = 0, *, approved: bool = True
) -> ImageRow:
    """The image of a revision, to be built if nobody asked before.

    One that failed because the builders did is tried again, at a later request. So is
    one that was dropped. One that is not `approved` is held until somebody asks for it who may.
    """
    variant = revision.variant or revision.sha
    image = await farm.store.image_of(variant, ordinal, revision.repository)
    if image is None:
        image = await farm.store.ensure_image(
            sha=revision.sha,
            variant=variant,
            ordinal=ordinal,
            position=revision.position,
            label=revision.label,
            branch=await branch_of_commit(farm, revision.sha, revision.repository),
            now=farm.now(),
            state=ImageState.WANTED if approved else ImageState.HELD,
        )
    if not approved or image.state not in _ASLEEP:
        return image
    revived = await farm.change(image, state=ImageState.WANTED, attempt=0)
    return revived or image


async def cancel_probes(
    farm: Farm, probes: Iterable[ProbeRow], why: str, *, failure: str | None = None
) -> None:
    """Call off what is still asked for of some probes; `failure` is what readers see of it."""
    for probe in probes:
        if probe.state not in OPEN_PROBES:
            continue
        await farm.end(probe, ProbeState.CANCELLED, failure=failure or probe.failure)
        await call_off(farm, probe.brid, why)


async def call_off(farm: Farm, brid: int | None, why: str) -> None:
    """Cancel a request of Buildbot's, if one was made; a build that runs for it is stopped."""
    if brid is not None:
        await farm.master.data.control("cancel", {"reason": why}, ("buildrequests", str(brid)))


async def ask_probe(farm: Farm, request: ProbeRequest) -> ProbeRow:
    """Ask for iterations of an image; the same request asks for the same ones, however often."""
    return await farm.store.ensure_probe(request, token=uuid4().hex, now=farm.now())


async def ask_boots(
    farm: Farm,
    image_id: int,
    series: SeriesName,
    reason: ProbeReason,
    iterations: int,
    *,
    priority: Priority | None = None,
    **asked: Any,
) -> ProbeRow:
    """Ask for iterations on a series, as `ask_probe` does; `asked` are more of its fields."""
    testbed, workload = series
    request = ProbeRequest(
        image_id=image_id,
        testbed=testbed,
        workload=workload,
        iterations=iterations,
        reason=reason,
        priority=reason.priority if priority is None else priority,
        **asked,
    )
    return await ask_probe(farm, request)


# To stop a build and to start another takes some seconds itself.
_WORTH_STOPPING_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """What the tables say of a farm's builders and testbeds."""

    farm: Farm

    async def free_builders(self, repository: str) -> int:
        """How many of those builders that build a repository nothing is asked of."""
        return self._builders(repository) - len(await self._unbuilt(repository))

    def _builders(self, repository: str) -> int:
        return len(self.farm.workflow.build_job_of(repository).runs_on)

    async def make_room(self, *, build_s: float, repository: str) -> None:
        """When all builders are busy, stop a build that nobody waits for: the last one asked for.

        It is asked for again when a search still wants it. With one builder a search would take
        longer with builds ahead than without, if it had to wait for them (benchmarks/search_wall).
        A build that is about to end, when builds take `build_s`, is let end.
        """
        unbuilt = await self._unbuilt(repository)
        if len(unbuilt) < self._builders(repository):
            return
        awaited = await self._awaited_images()
        ahead = [
            image
            for image in unbuilt
            if image.id not in awaited and self._left_s(image, build_s) > _WORTH_STOPPING_S
        ]
        if ahead:
            await self._drop(max(ahead, key=lambda image: image.changed_at))

    async def idle_s(self, testbed: str, *, build_s: float = inf) -> float:
        """For how long a testbed will have nothing to boot, when builds take `build_s`.

        0 when there is something to boot now, and when a build takes longer than it should. All
        testbeds of one worker count, since it serves one at a time.
        """
        worker, testbeds = testbed_of(self.farm, testbed).worker, self.farm.workflow.testbeds
        same_worker = {name for name, other in testbeds.items() if other.worker == worker}
        left_s = [build_s]
        for probe in await self.farm.store.open_probes():
            if probe.testbed in same_worker:
                image = await self.farm.store.image(probe.image_id)
                left_s.append(self._left_s(image, build_s))
        return max(min(left_s), 0.0)

    def _left_s(self, image: ImageRow | None, build_s: float) -> float:
        if image is None or image.state not in UNBUILT:
            return 0.0
        began_s = image.changed_at if image.state == ImageState.BUILDING else self.farm.now()
        return began_s + build_s - self.farm.now()

    async def _unbuilt(self, repository: str) -> list[ImageRow]:
        """What waits for the builders of a repository, or is built there."""
        store, job_of = self.farm.store, self.farm.workflow.build_job_of
        workers = {*job_of(repository).runs_on}
        return [
            image
            for state in UNBUILT
            for image in await store.images(state=state)
            if workers.intersection(job_of(image.repository).runs_on) and not image.is_prebuilt
        ]

    async def _awaited_images(self) -> set[int]:
        """The images that a probe or a comparison waits for."""
        ab_tests = await self.farm.store.ab_tests(states=(AbTestState.RUNNING,))
        compared = {image_id for ab_test in ab_tests for image_id in ab_test.image_ids}
        return compared | {probe.image_id for probe in await self.farm.store.open_probes()}

    async def _drop(self, image: ImageRow) -> None:
        """First in the tables: a master that dies in between lets the build end, and keeps it."""
        dropped = await self.farm.change(image, state=ImageState.DROPPED, brid=None)
        if dropped is not None and image.brid is not None:
            await self.farm.master.data.control(
                "cancel",
                {"reason": "a builder is needed for what a search waits for"},
                ("buildrequests", str(image.brid)),
            )


# A build that ended without an image may be asked for again.
_WITHOUT_IMAGE = frozenset({ImageState.FAILED, ImageState.DROPPED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Boots:
    """The requests of searches, in the farm's tables."""

    farm: Farm
    capacity: Capacity

    async def ask(
        self,
        search: SearchRow,
        inputs: SearchInputs,
        *,
        position: int,
        serial: int,
        image: int = 0,
        iterations: int = 1,
        priority: Priority | None = None,
        reason: ProbeReason = ProbeReason.SEARCH,
    ) -> None:
        """Ask for iterations of a build of a position; `serial` counts the search's requests.

        They go first by what the search is about, unless a priority is named.
        """
        if priority is None:
            priority = Priority.IMPROVEMENT if is_of_improvement(search) else Priority.SEARCH
        revision = inputs.range.revisions[position]
        if image == PREBUILT:
            row = await ask_image(self.farm, _prebuilt(target_of(revision, search.branch)))
        else:
            row = await ask_image(self.farm, await self._target(search, inputs, position), image)
        await ask_boots(
            self.farm,
            row.id,
            search.series,
            reason,
            iterations,
            priority=priority,
            search_id=search.id,
            tunables=search.tunables,
            serial=serial,
        )
        waits = row.state == ImageState.WANTED and image != PREBUILT
        if waits and priority is not Priority.IMPROVEMENT:
            await self.capacity.make_room(
                build_s=inputs.costs.build_s, repository=search.repository
            )

    async def build_ahead(self, search: SearchRow, inputs: SearchInputs, wanted: Measure) -> None:
        """Have the builders that idle make what the search will want, if it is in a hurry."""
        if is_of_improvement(search):
            return
        asked = {
            image.position - inputs.range.old.position
            for image in inputs.images.values()
            if image.ordinal == 0 and image.state not in _WITHOUT_IMAGE
        }
        ahead = [position for position in wanted.prefetch if position not in asked]
        free = await self.capacity.free_builders(search.repository)
        for position in ahead[: max(free, 0)]:
            await ask_image(self.farm, await self._target(search, inputs, position))

    async def _target(self, search: SearchRow, inputs: SearchInputs, position: int) -> BuildTarget:
        """What is built of a position; what a merge brought is called by its hash."""
        revision = inputs.range.revisions[position]
        if not inputs.recipes:
            return await built_for(self.farm, search, revision)
        recipe, repository = inputs.recipes[position], search.repository
        plain = await self.farm.git(self.farm.history.resolve, recipe.sha, repository)
        branch = await branch_of_commit(self.farm, plain.sha, repository)
        known = not recipe.merged and is_watched(branch)
        label = plain.label if known else revision.label
        return replace(target_of(plain, search.branch), label=label, variant=recipe.text)


def _prebuilt(plain: BuildTarget) -> BuildTarget:
    """The same revision as the source of artefacts has it."""
    variant = Recipe(sha=plain.sha, prebuilt=True).text
    return replace(plain, label=f"{plain.label}+prebuilt", variant=variant)


async def built_for(farm: Farm, search: SearchRow, revision: Revision) -> BuildTarget:
    """What a search builds of a revision: with its fix where that fits and is not yet in."""
    plain = target_of(revision, search.branch)
    if search.fix_sha is None:
        return plain
    fits = await farm.git(farm.fits, search.fix_sha, (revision.sha,))
    if fits[revision.sha] is not Fit.FITS:
        return plain
    fix = search.fix_sha[:ABBREVIATION_LENGTH]
    return replace(
        plain, label=f"{plain.label}+commit:{fix}", variant=patched(search, revision.sha)
    )


def bootable_image(inputs: SearchInputs, wanted: Measure) -> int:
    """The build that a plan means: in place of one that cannot be made it is the next."""
    return usable_image(wanted, images_at(inputs, wanted.position), inputs.samples)


def is_built(inputs: SearchInputs, wanted: Measure) -> bool:
    """Whether the image that a plan means is there to be booted at once."""
    if wanted.image == PREBUILT:
        first = inputs.range.old.position
        return any(
            one.is_built and one.position - first == wanted.position
            for one in inputs.prebuilt.values()
        )
    return any(
        (image.ordinal, image.state) == (wanted.image, ImageState.BUILT)
        for image in images_at(inputs, wanted.position)
    )


def places_of(inputs: SearchInputs, probes: Iterable[ProbeRow]) -> Iterator[tuple[int, int]]:
    """Position and image, in the range's terms, of what some probes boot."""
    for probe in probes:
        if image := inputs.images.get(probe.image_id):
            yield image.position - inputs.range.old.position, image.ordinal
        elif image := inputs.prebuilt.get(probe.image_id):
            yield image.position - inputs.range.old.position, PREBUILT


def images_at(inputs: SearchInputs, position: int) -> list[ImageRow]:
    """The images of a position of the range."""
    first = inputs.range.old.position
    return [image for image in inputs.images.values() if image.position - first == position]
