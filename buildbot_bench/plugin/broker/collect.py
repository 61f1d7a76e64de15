"""The collection of requests that ended, and the repetition of lost ones."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from buildbot.data.resultspec import Filter

from buildbot_bench.api.answers import ProbeState
from buildbot_bench.core.evidence import MAX_FRUITLESS
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.plugin.broker.ask import ask_probe
from buildbot_bench.plugin.buildbot_fixes.orphaned_requests import release_if_orphaned
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.db.rows import AskedBoots, ImageRow, ProbeRequest, ProbeRow
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.farm import (
    MAX_ATTEMPTS,
    may_be_followed_again,
    may_have_another_job,
    recorded_of,
)

TELL_AGAIN_S = 20.0
"""Requests wait as long before masters are told of them again; a worker is asked in less."""


async def request_has_ended(master: Any, brid: int | None) -> bool:
    """Whether nobody works on a build request any more; one that was never made has ended."""
    if brid is None:
        return True
    request = await master.data.get(("buildrequests", brid))
    if request is None or request["complete"]:
        return True
    await release_if_orphaned(master, request)
    return False


async def has_begun(master: Any, brid: int | None) -> bool:
    """Whether a worker works on a build request, or has."""
    request = None if brid is None else await master.data.get(("buildrequests", brid))
    return request is not None and bool(request["claimed"] or request["complete"])


class Collector:
    """Closes what ended and asks again for what got lost on the way."""

    def __init__(self, farm: Farm, master: Any) -> None:
        self._farm = farm
        self._master = master
        self._told_at: dict[int, float] = {}

    async def collect(self) -> None:
        """Look at every request that is out, and at every probe whose image cannot be made."""
        building = await self._farm.store.images(state=ImageState.BUILDING)
        issued = await self._farm.store.probes(state=ProbeState.ISSUED)
        # Asked for behind the rows: a request that they name was made before.
        brids = {image.brid for image in building} | {probe.brid for probe in issued}
        out = await self._open_requests(brids) if brids else frozenset()
        for image in building:
            if image.brid not in out:
                await self._build_ended(image)
        for probe in issued:
            if probe.brid not in out:
                await self._probe_ended(probe)
        images = await self._farm.store.images_of_new_probes()
        for probe in await self._farm.store.probes(state=ProbeState.NEW):
            await self._drop_if_imageless(probe, images.get(probe.image_id))

    async def _open_requests(self, brids: Collection[int | None]) -> frozenset[int]:
        """Those build requests that somebody works on, or will; all are asked for at once."""
        requests = await self._master.data.get(
            ("buildrequests",), filters=[Filter("complete", "eq", [False])]
        )
        ours = [request for request in requests if request["buildrequestid"] in brids]
        for request in ours:
            await release_if_orphaned(self._master, request)
        await self._tell_again(request for request in ours if not request["claimed"])
        self._farm.store.look_again()
        return frozenset(request["buildrequestid"] for request in ours)

    async def _tell_again(self, unclaimed: Iterable[dict[str, Any]]) -> None:
        """Have masters look at builders for which requests wait.

        They look when an event comes or a worker does. An event that the router loses, or that
        comes while a master starts, would leave a request to wait for the next one, maybe for ever.
        """
        now_s = self._farm.now()
        first: dict[int, int] = {}
        for request in unclaimed:
            first.setdefault(request["builderid"], request["buildrequestid"])
        told_at = {builder: self._told_at.get(builder, now_s) for builder in first}
        for builder, brid in first.items():
            if abs(now_s - told_at[builder]) >= TELL_AGAIN_S:
                told_at[builder] = now_s
                requests = self._master.data.getResourceType("buildrequest")
                await requests.generateEvent([brid], "unclaimed")
        self._told_at = told_at

    async def _build_ended(self, image: ImageRow) -> None:
        current = await self._farm.store.image(image.id)
        if current is None or current.state != ImageState.BUILDING:
            return
        attempt = image.attempt + 1
        state = ImageState.FAILED if attempt >= MAX_ATTEMPTS else ImageState.WANTED
        await self._farm.change(current, state=state, attempt=attempt, brid=None)

    async def _probe_ended(self, probe: ProbeRow) -> None:
        current = await self._farm.store.probe(probe.id)
        if current is None or current.state != ProbeState.ISSUED:
            return
        recorded = recorded_of(await self._farm.store.iterations_of_probe(probe.id))
        if current.failure_kind == FailureKind.INFRASTRUCTURE:
            await self._replace(current, recorded)
        elif may_be_followed_again(current, recorded):
            # The job itself did not fail and may still run: whoever asks again attaches to it by
            # its token.
            await self._farm.store.change(
                current, state=ProbeState.NEW, attempt=current.attempt + 1, brid=None
            )
        elif recorded >= current.iterations:
            await self._close(current)
        else:
            await self._lose(current, current.failure or "its build was stopped again and again")

    async def _replace(self, probe: ProbeRow, recorded: int) -> None:
        """The lab gave up on the job: what is missing becomes a job of its own."""
        if recorded >= probe.iterations:
            await self._close(probe)
            return
        if may_have_another_job(probe):
            await self._ask_for_rest(probe, probe.iterations - recorded)
        # Last, so that a master that dies before it finds the rest asked for, not forgotten.
        await self._lose(probe, probe.failure or "the lab failed")

    async def _ask_for_rest(self, probe: ProbeRow, missing: int) -> None:
        rest = ProbeRequest(
            **shared(AskedBoots, probe)
            | {"iterations": missing, "round": probe.round + 1, "epoch": ""},
            name=f"rest of {probe.id}",
        )
        await ask_probe(self._farm, rest)

    async def _close(self, probe: ProbeRow) -> None:
        """All that was asked for is there, no matter what the job's end was."""
        await self._farm.end(probe, ProbeState.DONE, failure=None, failure_kind=None)

    async def _lose(self, probe: ProbeRow, why: str) -> None:
        await self._farm.end(
            probe, ProbeState.LOST, failure=why, failure_kind=FailureKind.INFRASTRUCTURE
        )

    async def _drop_if_imageless(self, probe: ProbeRow, image: ImageRow | None) -> None:
        if image is None or image.state == ImageState.UNTESTABLE:
            await self._farm.end(
                probe,
                ProbeState.DONE,
                failure=image.reason if image else "its image is gone",
                failure_kind=FailureKind.UNTESTABLE,
            )
        elif image.state == ImageState.DROPPED:
            await self._farm.change(image, state=ImageState.WANTED, attempt=0)
        elif image.state == ImageState.FAILED:
            await self._lose(probe, image.reason or "the builders fail")


async def why_fruitless(farm: Farm, probes: Sequence[ProbeRow], *telling: FailureKind) -> str:
    """Why the last probes gave nothing to go on from; empty when one of them did.

    Failures of the kinds `telling` are something to go on from. Without this the same evidence
    would ask for the same probe for ever.
    """
    recent = probes[-MAX_FRUITLESS:]
    if len(recent) < MAX_FRUITLESS:
        return ""
    why = ""
    for probe in recent:
        rows = await farm.store.iterations_of_probe(probe.id)
        if probe.failure_kind in telling or any(row.value is not None for row in rows):
            return ""
        why = probe.failure or next((row.failure for row in rows if row.failure), "") or why
    return why or "the lab gave no values"
