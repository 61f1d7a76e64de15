"""Consequences of a broken or doubted workload: test boots, and retries once it works.

Until the workload works again, its series boots only kernels of good standing, and failures under
it blame no kernel.
"""

from twisted.logger import Logger

from buildbot_bench.api.states import ProbeState
from buildbot_bench.core.incident.workload import Attempt, BrokenWorkload
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import ask_boots
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.db.states import OPEN_PROBES, ImageState, ProbeReason
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import held_testbeds
from buildbot_bench.plugin.queries.breakages import Trouble, troubles_of_workloads


async def revived(farm: Farm, image: ImageRow) -> ImageRow | None:
    """An image that was built once, testable again, and to be built anew if its artefact is gone.

    Any other stays as it is. None when another one changed it meanwhile.
    """
    if image.digest is None or image.state is not ImageState.UNTESTABLE:
        return image
    there = {row.digest for row in await farm.store.artefacts()}
    state = ImageState.BUILT if image.digest in there else ImageState.WANTED
    return await farm.change(image, state=state, attempt=0)


_LOG = Logger()


class Workloads:
    """Looks after the series whose boots fail."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._said: set[tuple[str, str]] = set()

    async def advance(self) -> None:
        """Boot what tells, and take back what a broken workload said of kernels."""
        troubles = await troubles_of_workloads(self._farm)
        held = await held_testbeds(self._farm)
        broken = set()
        for series, trouble in troubles.items():
            match trouble.verdict:
                case Attempt() as boot:
                    due, last = True, boot
                case BrokenWorkload() as verdict:
                    broken.add(series)
                    self._say(series, trouble)
                    await self._take_back(verdict, trouble.text)
                    due = self._farm.now() >= verdict.again_at_s
                    last = verdict.first
            if due and trouble.testbed not in held:
                await self._boot(trouble, last)
        self._said &= broken

    def _say(self, series: tuple[str, str], trouble: Trouble) -> None:
        if series not in self._said:
            self._said.add(series)
            _LOG.warn("bench: {text}", text=trouble.text)

    async def _boot(self, trouble: Trouble, kernel: Attempt) -> None:
        """Ask for one boot, unless one is asked for; each failure has a boot of its own."""
        proven = await self._farm.store.probe(kernel.number)
        image = None if proven is None else await self._revived(proven.image_id)
        if image is None:
            return
        asked = await self._farm.store.probes_of([image.id], (trouble.testbed, trouble.workload))
        tries = [probe for probe in asked if probe.reason is ProbeReason.WORKLOAD]
        # One that ended since the verdict may have turned it: the next cycle knows.
        if any(probe.state in OPEN_PROBES or _is_news(probe, trouble) for probe in tries):
            return
        series, serial = (trouble.testbed, trouble.workload), len(tries) + 1
        await ask_boots(self._farm, image.id, series, ProbeReason.WORKLOAD, 1, serial=serial)

    async def _take_back(self, verdict: BrokenWorkload, why: str) -> None:
        """Let no kernel pass for untestable, and what is no search's be asked for again.

        Both failures that prove it stay: they are what is known of the workload.
        """
        proof = {verdict.first.number, verdict.second.number}
        for one in verdict.since:
            probe = await self._farm.store.probe(one.number)
            if probe is None:
                continue
            await self._revived(probe.image_id)
            if one.number not in proof and not _is_kept(probe):
                await self._farm.store.change(
                    probe,
                    state=ProbeState.LOST,
                    failure=why,
                    failure_kind=FailureKind.INFRASTRUCTURE,
                )

    async def _revived(self, image_id: int) -> ImageRow | None:
        """The image of that number, testable again if it was built once; None without it."""
        image = await self._farm.store.image(image_id)
        return None if image is None else await revived(self._farm, image)


def _is_news(probe: ProbeRow, trouble: Trouble) -> bool:
    return probe.state is ProbeState.DONE and probe.id > max(trouble.known)


def _is_kept(probe: ProbeRow) -> bool:
    """Whether a failure stays as it is: a search goes by images, a retry is remembered."""
    return probe.search_id is not None or probe.reason is ProbeReason.WORKLOAD
