"""Which builders and testbeds have nothing to do, and how a builder is freed; it wants nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from buildbot_bench.plugin.broker.ask import OPEN_PROBES
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import ImageState, TrialState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import bed_of

# To stop a build and to start another takes some seconds itself.
_WORTH_STOPPING_S = 30.0
_UNBUILT = (ImageState.WANTED, ImageState.BUILDING)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hands:
    """What the tables say of a farm's builders and testbeds."""

    farm: Farm

    async def free_builders(self) -> int:
        """How many builders nothing is asked of."""
        return len(self.farm.workflow.build_job.runs_on) - len(await self._unbuilt())

    async def make_room(self, *, build_s: float) -> None:
        """When all builders are busy, stop a build that nobody waits for: the last one asked for.

        It is asked for again when a search still wants it. With one builder a search would take
        longer with builds ahead than without, if it had to wait for them (benchmarks/search_wall).
        A build that is about to end, when builds take `build_s`, is let end.
        """
        unbuilt = await self._unbuilt()
        if len(unbuilt) < len(self.farm.workflow.build_job.runs_on):
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
        worker, beds = bed_of(self.farm, testbed).worker, self.farm.workflow.testbeds
        same_worker = {name for name, bed in beds.items() if bed.worker == worker}
        left_s = [build_s]
        for probe in await self._open_probes():
            if probe.testbed in same_worker:
                image = await self.farm.store.image(probe.image_id)
                left_s.append(self._left_s(image, build_s))
        return max(min(left_s), 0.0)

    def _left_s(self, image: ImageRow | None, build_s: float) -> float:
        if image is None or image.state not in _UNBUILT:
            return 0.0
        began_s = image.changed_at if image.state == ImageState.BUILDING else self.farm.now()
        return began_s + build_s - self.farm.now()

    async def _unbuilt(self) -> list[ImageRow]:
        store = self.farm.store
        return [image for state in _UNBUILT for image in await store.images(state=state)]

    async def _open_probes(self) -> list[ProbeRow]:
        store = self.farm.store
        return [probe for state in OPEN_PROBES for probe in await store.probes(state=state)]

    async def _awaited_images(self) -> set[int]:
        """The images that a probe or a trial waits for."""
        trials = await self.farm.store.trials(states=(TrialState.RUNNING,))
        sides = {side for trial in trials for side in (trial.base_image_id, trial.new_image_id)}
        return sides | {probe.image_id for probe in await self._open_probes()}

    async def _drop(self, image: ImageRow) -> None:
        """First in the tables: a master that dies in between lets the build end, and keeps it."""
        dropped = await self.farm.store.change_image(
            image, now=self.farm.now(), state=ImageState.DROPPED, brid=None
        )
        if dropped is not None and image.brid is not None:
            await self.farm.master.data.control(
                "cancel",
                {"reason": "a builder is needed for what a search waits for"},
                ("buildrequests", str(image.brid)),
            )
