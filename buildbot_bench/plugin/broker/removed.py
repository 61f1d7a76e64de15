"""The end of requests that are superseded, never approved, or for what bench.yml lost."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from buildbot.util.service import AsyncService, ReconfigurableServiceMixin
from buildbot.util.twisted import async_to_deferred
from twisted.internet.task import deferLater
from twisted.logger import Logger

from buildbot_bench.api.answers import AbTestState, SearchState
from buildbot_bench.plugin.broker.ask import call_off, cancel_probes
from buildbot_bench.plugin.broker.collect import has_begun
from buildbot_bench.plugin.broker.quarantine import end_quarantine
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import (
    OPEN_PROFILES,
    UNBUILT,
    ImageState,
    JudgementState,
    ProbeReason,
    ProfileState,
    SearchKind,
)
from buildbot_bench.plugin.db.finding_rows import JudgementRow, QuarantineRow, SearchRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow, ProfileRow
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.histories import require_same_first
from buildbot_bench.plugin.farm.series import (
    captures_removal_reason,
    in_one_line,
    removal_reason,
    removal_reasons,
    repository_removal_reason,
)

_OF_PUSHES = frozenset({ProbeReason.COMMIT, ProbeReason.BACKFILL})


class Superseded:
    """With `concurrency.cancel-in-progress`, calls off what has not begun of earlier pushes.

    It leaves the builds and boots that run, and all that searches and people ask for. When
    what is measured shows a drop, the search builds and boots what was passed over.
    """

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def advance(self) -> None:
        """Look at each request for a commit that waits."""
        workflow, store = self._farm.workflow, self._farm.store
        if not workflow.concurrency.cancel_in_progress or workflow.on.push is None:
            return
        for probe in await store.open_probes():
            if probe.reason in _OF_PUSHES and await self._is_superseded(probe):
                why = "a later push arrived (concurrency.cancel-in-progress)"
                await cancel_probes(self._farm, [probe], why, failure=why)
                await self._drop_if_unawaited(probe.image_id)

    async def _is_superseded(self, probe: ProbeRow) -> bool:
        image = await self._farm.store.image(probe.image_id)
        if image is None or not image.branch:
            return False
        first = await self._farm.store.first_of_newest_push(image.branch)
        return image.position < first and not await has_begun(self._farm.master, probe.brid)

    async def _drop_if_unawaited(self, image_id: int) -> None:
        """Do without a build that has not begun, unless something else waits for it."""
        store = self._farm.store
        image = await store.image(image_id)
        if image is None or image.state not in UNBUILT:
            return
        ab_tests = await store.ab_tests(states=(AbTestState.RUNNING,))
        awaited = {probe.image_id for probe in await store.open_probes()}
        awaited |= {number for ab_test in ab_tests for number in ab_test.image_ids}
        if image_id in awaited or await has_begun(self._farm.master, image.brid):
            return
        # First in the tables: a master that dies in between lets the build end, and keeps it.
        dropped = await self._farm.change(image, state=ImageState.DROPPED, brid=None)
        if dropped is not None:
            await call_off(self._farm, image.brid, "nobody waits for it any more")


LOOK_EVERY_S = 3600.0
_DAY_S = 24 * 3600.0
# A cancelled one may be let go on, and would await approval again.
_UNDECIDED = (AbTestState.AWAITING, AbTestState.CANCELLED)


class UnapprovedPatches:
    """Looks in its first cycle and then each hour."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._next_look_s = 0.0

    async def advance(self) -> None:
        """Reject what has waited for too long, and delete the patches that nothing needs."""
        now = self._farm.now()
        if now < self._next_look_s:
            return
        self._next_look_s = now + LOOK_EVERY_S
        before = now - self._farm.workflow.untrusted.keep_days * _DAY_S
        undecided = await self._farm.store.ab_tests(_UNDECIDED)
        late = [one for one in undecided if (one.resumed_at or one.created_at) < before]
        await for_each(late, self._reject, "comparison of variants")
        await self._farm.store.forget_patches(before)

    async def _reject(self, ab_test: AbTestRow) -> None:
        images = [await self._farm.store.image(variant.image_id) for variant in ab_test.variants]
        if not any(image is not None and image.state == ImageState.HELD for image in images):
            return
        days = self._farm.workflow.untrusted.keep_days
        await self._farm.store.change_ab_test(
            ab_test,
            state=AbTestState.REJECTED,
            detail=f"nobody approved its patches within {days} days",
            ended_at=ab_test.ended_at or self._farm.now(),
        )


_LOG = Logger()


class RemovedTestbeds:
    """Ends, with the reason, what is asked of testbeds and workloads that are gone."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._elsewhere: dict[int, str] = {}
        self._without_variant: dict[int, str] = {}

    @property
    def _watched(self) -> tuple[str, ...]:
        return tuple(one.key for one in self._farm.workflow.watches)

    async def advance(self) -> None:
        """Look at all that has not ended; it comes first in a cycle, so that no part meets it."""
        store = self._farm.store
        self._elsewhere = await store.open_probes_elsewhere(self._watched)
        running = await store.searches(states=(SearchState.RUNNING,))
        await for_each(running, self._search, "the end of search")
        ab_tests = await store.ab_tests(states=(AbTestState.RUNNING, AbTestState.AWAITING))
        self._without_variant = await store.ab_tests_elsewhere(self._watched)
        await for_each(ab_tests, self._ab_test, "the end of comparison of variants")
        await for_each(await store.open_probes(), self._probe, "the end of probe")
        await for_each(await self._captures(), self._capture, "the end of capture")
        suspicions = await store.judgements(state=JudgementState.SUSPICION)
        await for_each(suspicions, self._suspicion, "the end of suspicion")
        lasting = await store.quarantines(open_only=True)
        await for_each(lasting, self._quarantine, "the end of quarantine")
        unbuilt = await store.unbuilt_elsewhere(self._watched)
        await for_each(unbuilt, self._image, "the end of image")

    async def requests(self) -> list[int]:
        """Buildbot's requests for what is gone, which `advance` calls off."""
        self._elsewhere = await self._farm.store.open_probes_elsewhere(self._watched)
        probes = [
            probe.brid
            for probe in await self._farm.store.open_probes()
            if self._why_of_probe(probe)
        ]
        images = [row.brid for row in await self._farm.store.unbuilt_elsewhere(self._watched)]
        captures = [row.brid for row in await self._captures() if await self._why_of_capture(row)]
        return [brid for brid in (*probes, *captures, *images) if brid is not None]

    async def _captures(self) -> list[ProfileRow]:
        store = self._farm.store
        return [row for state in OPEN_PROFILES for row in await store.profiles(state=state)]

    async def _search(self, search: SearchRow) -> None:
        if search.kind is SearchKind.BUILD:  # which is of no testbed
            why = repository_removal_reason(self._farm, search.repository)
        else:
            why = removal_reason(self._farm, search.testbed, search.workload, search.repository)
        if why:
            await self._cancel(await self._farm.store.probes_of_search(search.id), why)
            await self._farm.end(search, SearchState.CANCELLED, detail=why)

    async def _ab_test(self, ab_test: AbTestRow) -> None:
        """One that has series left goes on with those; one that lacks a variant does not."""
        reasons = removal_reasons(self._farm, ab_test.series)
        gone = self._without_variant.get(ab_test.id)
        if gone is not None or all(reasons):
            lacking = gone and repository_removal_reason(self._farm, gone)
            why = lacking or in_one_line(reasons)
            await self._cancel(await self._farm.store.probes_of_ab_test(ab_test.id), why)
            await self._farm.store.change_ab_test(
                ab_test, state=AbTestState.CANCELLED, detail=why, ended_at=self._farm.now()
            )

    async def _probe(self, probe: ProbeRow) -> None:
        if why := self._why_of_probe(probe):
            await self._cancel([probe], why)

    def _why_of_probe(self, probe: ProbeRow) -> str:
        elsewhere = self._elsewhere.get(probe.id, "")
        return removal_reason(self._farm, probe.testbed, probe.workload, elsewhere)

    async def _image(self, row: ImageRow) -> None:
        """First in the tables: a master that dies in between lets the build end."""
        why = repository_removal_reason(self._farm, row.repository)
        dropped = await self._farm.change(row, state=ImageState.DROPPED, brid=None)
        if dropped is not None:
            await call_off(self._farm, row.brid, why)

    async def _cancel(self, probes: Iterable[ProbeRow], why: str) -> None:
        await cancel_probes(self._farm, probes, why, failure=why)

    async def _capture(self, row: ProfileRow) -> None:
        if why := await self._why_of_capture(row):
            await self._farm.end(row, ProfileState.FAILED, failure=why)
            await call_off(self._farm, row.brid, why)

    async def _why_of_capture(self, row: ProfileRow) -> str:
        image = await self._farm.store.image(row.image_id)
        repository = image.repository if image else ""
        return captures_removal_reason(self._farm, row.testbed, row.workload, repository)

    async def _suspicion(self, row: JudgementRow) -> None:
        """Without fresh boots it can neither be confirmed nor refuted."""
        why = removal_reason(self._farm, row.testbed, row.workload, row.repository)
        if why:
            await self._farm.change(
                row, state=JudgementState.UNFIT, verdict=replace(row.grounds, reason=why)
            )

    async def _quarantine(self, row: QuarantineRow) -> None:
        """It is the testbed's: another workload tells as well that it is not to be believed."""
        if row.testbed not in self._farm.workflow.testbeds:
            why = removal_reason(self._farm, row.testbed, row.workload)
            await end_quarantine(self._farm, row, by=why)


# The lab answers within seconds; Buildbot lets nobody log in before it is reconfigured.
PATIENCE_S = 10.0
_LOOK_EVERY_S = 0.2


class BeforeBuilders(ReconfigurableServiceMixin, AsyncService):
    """Has the farm go by the new workflow before the master's builders do."""

    name = f"{SERVICE_NAME}-before-builders"
    # Higher ones are reconfigured first; the botmaster, which has the builders, has 1001.
    reconfig_priority = 1100

    def __init__(self, farm: Farm) -> None:
        super().__init__()
        self._farm = farm

    @async_to_deferred
    async def reconfigServiceWithBuildbotConfig(self, new_config: Any) -> None:
        """Take the workflow of the new configuration, and end what it has no place for."""
        service = new_config.services.get(SERVICE_NAME)
        workflow = service and service._config_kwargs["workflow"]  # noqa: SLF001 - there is no other
        if workflow is None or workflow == self._farm.workflow:
            return
        await require_same_first(self._farm.master, self._farm.store, workflow)
        self._farm.use(workflow)
        removed = RemovedTestbeds(self._farm)
        requests = await removed.requests()
        await removed.advance()
        await self._ended(requests)

    async def _ended(self, requests: list[int]) -> None:
        reactor, data = self._farm.master.reactor, self._farm.master.data
        deadline = reactor.seconds() + PATIENCE_S
        for brid in requests:
            request = await data.get(("buildrequests", brid))
            while request is not None and not request["complete"]:
                if reactor.seconds() > deadline:
                    _LOG.warn(
                        "bench: build request {brid} does not end: its builder goes all the same",
                        brid=brid,
                    )
                    return
                await deferLater(reactor, _LOOK_EVERY_S, lambda: None)
                request = await data.get(("buildrequests", brid))
