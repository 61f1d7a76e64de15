"""The submission of wanted images and probes to Buildbot, each once, or the fetch of an image."""

from collections.abc import Sequence
from typing import Any

from buildbot.data.resultspec import Filter
from buildbot.process.properties import Properties
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.api.answers import AbTestState, ProbeState
from buildbot_bench.archives.contents import contents_apart
from buildbot_bench.archives.prebuilt import PrebuiltSource, check_identity, fetch
from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.evidence import is_alike
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import name_in_repository
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.db.columns import ImageState, JudgementState, Priority, ProbeReason
from buildbot_bench.plugin.db.finding_rows import NewJudgement, VerdictGrounds
from buildbot_bench.plugin.db.probes import OF_COMMITS, CaptureClaimRow, ClaimRow
from buildbot_bench.plugin.db.rows import ImageRow, ProbeRow
from buildbot_bench.plugin.farm import Farm, bench_builder
from buildbot_bench.plugin.farm.series import branch_of_image
from buildbot_bench.plugin.queries.evidence import item_on
from buildbot_bench.plugin.queries.turns import WorkerQueue, keep_turn, lab_turns
from buildbot_bench.plugin.steps.transfer import keep_built

_LOG = Logger()


class NoOps:
    """Closes the probes of commits whose kernel is that of their predecessor, and says so."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def spares(self, probe: ProbeRow, image: ImageRow) -> bool:
        """Whether a probe whose image is built costs no boot; then it is closed.

        Only what is measured for the commit's own sake is spared: a search, a confirmation or a
        schedule asks for a boot because it wants that boot. But a further image is asked for its
        other layout, and must have one.
        """
        store = self._farm.store
        if probe.reason is ProbeReason.SCHEDULE:
            return False
        if probe.reason in OF_COMMITS:
            branch = await branch_of_image(self._farm, image)
            twin = await store.measured_twin(image, probe.series, branch=branch)
            if twin is not None:
                await self._close(probe, image, twin)
            return twin is not None
        if image.ordinal == 0:
            return False
        first = await store.image_of(image.variant, 0, image.repository)
        alike = first is not None and is_alike(image, first)
        if alike:
            reason = (
                f"image {image.ordinal} of {image.label} is its first one again: the job"
                f" {quoted(self._farm.workflow.build_job_of(image.repository).name)} cannot relink"
            )
            _LOG.warn(
                "bench: {reason}; see BENCH_IMAGE in docs/how-to/kernels.md",
                probe=probe.id,
                reason=reason,
            )
            await self._end(probe, reason)
        return alike

    async def _close(self, probe: ProbeRow, image: ImageRow, twin: ImageRow) -> None:
        item = await item_on(self._farm, probe.testbed)
        reason = f"no-op change: same {item.built} as {twin.label}"
        # First what a reader is told: a master that dies in between tells it again.
        await self._farm.store.ensure_judgement(
            NewJudgement(
                testbed=probe.testbed,
                workload=probe.workload,
                unit="",
                old_sha=twin.sha,
                old_position=twin.position,
                new_sha=image.sha,
                new_position=image.position,
                state=JudgementState.NOTHING,
                verdict=VerdictGrounds(image=image.id, reason=reason),
                branch=await branch_of_image(self._farm, image),
            ),
            now=self._farm.now(),
        )
        await self._end(probe, reason)

    async def _end(self, probe: ProbeRow, reason: str) -> None:
        await self._farm.end(probe, ProbeState.DONE, failure=reason, judged=True)


class Issuer:
    """Asks the builders for images and the testbeds for iterations.

    A request carries its row's name as external id: a master that dies between asking and
    writing it down finds its request again instead of asking twice.
    """

    def __init__(self, farm: Farm, scheduler: Any, *, retry_s: float = 0.0) -> None:
        """`retry_s`: how long builders that failed are left alone; each time twice as long."""
        self._farm = farm
        self._scheduler = scheduler
        self._retry_s = retry_s
        self._noops = NoOps(farm)
        self._settled: set[int] = set()

    async def issue(self) -> None:
        """Ask for what is wanted and not yet asked for."""
        self._farm.store.look_again()  # a cycle may have thought for long
        images = {
            image.id: image for image in await self._farm.store.images(state=ImageState.WANTED)
        }
        urgency: dict[int, int] = {}
        for probe in await self._farm.store.probes(state=ProbeState.NEW):
            if probe.image_id in images:
                known = urgency.get(probe.image_id, Priority.BACKFILL)
                urgency[probe.image_id] = max(known, probe.priority)
        await self._share_out()
        for ab_test in await self._farm.store.ab_tests(states=(AbTestState.RUNNING,)):
            urgency |= dict.fromkeys(ab_test.image_ids, Priority.PERSON)
        for image in images.values():
            if self._is_due(image):
                await self._issue_image(image, urgency.get(image.id, Priority.AHEAD))

    def _is_due(self, image: ImageRow) -> bool:
        """A repository or a disk that fails now may work soon; a clock may have been set back."""
        pause_s = self._retry_s * 2 ** (image.attempt - 1) if image.attempt else 0.0
        return not 0.0 <= self._farm.now() - image.changed_at < pause_s

    async def _share_out(self) -> None:
        """Hand each worker that has nothing to do what is next; the rest waits in the tables.

        Were more handed to Buildbot, it would order that by its priorities alone.
        """
        queues = (await lab_turns(self._farm)).queues
        await self._settle([wish.row for queue in queues.values() for wish in queue.ready])
        for worker, queue in queues.items():
            if not queue.handed:
                await self._hand_over(worker, queue)

    async def _settle(self, ready: Sequence[ClaimRow | CaptureClaimRow]) -> None:
        """Look once at what has just got its kernel: what costs no boot need not wait for one."""
        probes = {row.id for row in ready if isinstance(row, ClaimRow)}
        for number in sorted(probes - self._settled):
            await self._bootable(number)
        self._settled = probes

    async def _hand_over(self, worker: str, queue: WorkerQueue) -> None:
        """Issue what is next of what can be issued; captures are handed over elsewhere."""
        passed_over = {
            place for place, wish in enumerate(queue.ready) if not isinstance(wish.row, ClaimRow)
        }
        while (turn := next(queue.order(passed_over), None)) is not None:
            bootable = await self._bootable(turn.wish.row.id)
            if bootable is not None and await self._issue_probe(*bootable):
                await keep_turn(self._farm, worker, turn)
                return
            passed_over.add(turn.place)

    async def _bootable(self, number: int) -> tuple[ProbeRow, ImageRow] | None:
        """A probe with its image; None, of one that is open no more and of one that is spared.

        Here and not in a cycle's earlier part: the image may have been built since.
        """
        probe = await self._farm.store.probe(number)
        if probe is None or probe.state is not ProbeState.NEW:
            return None
        image = await self._farm.store.image(probe.image_id)
        if image is None:
            return None
        return None if await self._noops.spares(probe, image) else (probe, image)

    async def _issue_image(self, image: ImageRow, priority: int) -> None:
        built = parse_recipe(image.variant)
        if built.prebuilt:
            return  # no builder makes it: FetchesPrebuilt fetches it
        options, patches = built.option_lines, "\n".join(built.patches)
        brid = await self.request(
            name=f"bench-image:{image.id}:{image.version}",
            builder=self._farm.workflow.build_job_of(image.repository).name,
            revision=image.sha,
            repository=image.repository,
            branch=name_in_repository(image.branch or "") or None,
            reason=f"build {image.label}",
            priority=priority,
            properties={
                "bench_image": image.id,
                "bench_label": image.label,
                "bench_ordinal": image.ordinal,
                **({"bench_options": options} if options else {}),
                **({"bench_patches": patches} if patches else {}),
            },
        )
        if brid is not None:
            await self._farm.change(image, state=ImageState.BUILDING, brid=brid)

    async def _issue_probe(self, probe: ProbeRow, image: ImageRow) -> bool:
        """Say whether Buildbot has a builder for it."""
        brid = await self.request(
            name=f"bench-probe:{probe.id}:{probe.attempt}",
            builder=bench_builder(probe.testbed),
            revision=image.sha,
            repository=image.repository,
            reason=f"measure {image.label} {probe.workload} for {probe.reason}",
            priority=probe.priority,
            properties={
                "bench_probe": probe.id,
                "bench_image": image.id,
                "bench_label": image.label,
                "bench_workload": probe.workload,
            },
        )
        if brid is not None:
            await self._farm.store.change(
                probe, state=ProbeState.ISSUED, brid=brid, issued_at=self._farm.now()
            )
        return brid is not None

    async def request(
        self,
        *,
        name: str,
        builder: str,
        revision: str,
        reason: str,
        priority: int,
        properties: dict[str, Any],
        branch: str | None = None,
        repository: str,
    ) -> int | None:
        """Buildbot's request of that name, made if there is none; its number.

        `repository` is what its branches have in front. `branch` is what a checkout has to fetch to
        have the revision; None: the repository's HEAD.

        None while Buildbot has no such builder: a reconfiguration goes on, and a later cycle asks.
        """
        known = await self._known_request(name)
        if known is not None or builder not in self._scheduler.builderNames:
            return known
        watch = self._farm.workflow.watch(repository)
        if watch is None:
            return None  # it is no longer watched: what was asked for of it ends
        sourcestamp = {
            "codebase": "",
            "repository": watch.url,
            "branch": branch,
            "revision": revision,
            "project": self._farm.workflow.name,
        }
        await self._farm.store.confirm()  # Buildbot's own tables do not ask who runs the broker
        given = Properties()
        given.update(properties, "Bench")
        _bsid, brids = await self._scheduler.addBuildsetForSourceStamps(
            sourcestamps=[sourcestamp],
            reason=reason,
            external_idstring=name,
            builderNames=[builder],
            properties=given,
            priority=int(priority),
        )
        (brid,) = brids.values()
        return int(brid)

    async def _known_request(self, name: str) -> int | None:
        data = self._farm.master.data
        buildsets = await data.get(
            ("buildsets",), filters=[Filter("external_idstring", "eq", [name])]
        )
        for buildset in buildsets:
            requests = await data.get(
                ("buildrequests",), filters=[Filter("buildsetid", "eq", [buildset["bsid"]])]
            )
            for request in requests:
                return int(request["buildrequestid"])
        return None


class FetchesPrebuilt:
    """Fetches the kernels that others built beside the cycles, each image once at a time."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm
        self._busy: set[int] = set()

    async def advance(self) -> None:
        """Begin with those that are wanted."""
        for image in await self._farm.store.images(state=ImageState.WANTED):
            if image.is_prebuilt and image.id not in self._busy:
                self._busy.add(image.id)
                Deferred.fromCoroutine(self._fetch(image)).addBoth(self._ended, image)

    def _ended(self, result: object, image: ImageRow) -> None:
        self._busy.discard(image.id)
        if result is not None:
            _LOG.error("bench: fetching {label}: {result}", label=image.label, result=str(result))
        self._farm.wake()

    async def _fetch(self, image: ImageRow) -> None:
        """Make it an artefact, or say why it is none; own builds take its place then."""
        try:
            await self._take(image, self._farm.prebuilt.named())
        except UntestableRevision as error:
            await self._give_up(image, ImageState.UNTESTABLE, str(error))
        except InfraError as error:
            await self._give_up(image, ImageState.FAILED, str(error))

    async def _take(self, image: ImageRow, source: PrebuiltSource) -> None:
        farm, branch = self._farm, name_in_repository(image.branch or "")
        incoming = farm.artefacts.incoming(f"prebuilt-{image.id}")
        try:
            if not await deferToThread(fetch, source, image.sha, branch, incoming):
                raise UntestableRevision(f"{source.place(image.sha, branch)} is not there")
            held = await deferToThread(contents_apart, incoming)
            check_identity(held.version, image.sha, source)
            await keep_built(farm, image, incoming, held)
        finally:
            incoming.unlink(missing_ok=True)

    async def _give_up(self, image: ImageRow, state: ImageState, reason: str) -> None:
        _LOG.warn("bench: {label} is built instead: {reason}", label=image.label, reason=reason)
        await self._farm.unguarded.change(
            image, changed_at=self._farm.now(), state=state, reason=reason
        )
