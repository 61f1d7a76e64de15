"""Requests for captures of both sides of a proven step, and of comparisons."""

from typing import Any
from uuid import uuid4

from buildbot_bench.api.answers import AbTestState, SearchState
from buildbot_bench.plugin.broker.ask import ask_image, built_for
from buildbot_bench.plugin.broker.collect import request_has_ended
from buildbot_bench.plugin.broker.issue import Issuer
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow
from buildbot_bench.plugin.db.columns import ImageState, Priority, ProfileState, SearchKind
from buildbot_bench.plugin.db.finding_rows import SearchRow
from buildbot_bench.plugin.db.probes import CaptureClaimRow, ClaimRow
from buildbot_bench.plugin.db.rows import ProfileRow
from buildbot_bench.plugin.farm import Farm, profile_builder
from buildbot_bench.plugin.farm.farm import for_each
from buildbot_bench.plugin.farm.series import captures_removal_reason
from buildbot_bench.plugin.queries.captures import mail_waits
from buildbot_bench.plugin.queries.reports import report_of
from buildbot_bench.plugin.queries.turns import keep_turn, lab_turns

# A build that ends so often without a word of its job wants a person.
MAX_ATTEMPTS = 3
# So many of the newest searches are looked at: one that has ended lately is among them.
_NEWEST = 50
_SIDES = 2
# What is still to be built, or may be.
_AWAITED = frozenset({ImageState.WANTED, ImageState.BUILDING, ImageState.HELD, ImageState.DROPPED})


class CaptureRequests:
    """Asks for captures, each once, and closes what ended."""

    def __init__(self, farm: Farm, master: Any, issuer: Issuer) -> None:
        self._farm = farm
        self._master = master
        self._issuer = issuer

    async def advance(self) -> None:
        """Look at the searches that have just found something, and at every open request."""
        store = self._farm.store
        found = await store.searches(
            states=(SearchState.FOUND,), kinds=(SearchKind.EFFECT,), limit=_NEWEST
        )
        await for_each(
            [one for one in found if mail_waits(self._farm, one)], self._request_of_search, "search"
        )
        running = await store.ab_tests(states=(AbTestState.RUNNING,))
        await for_each(running, self._request_of_ab_test, "comparison of variants")
        await for_each(await store.profiles(state=ProfileState.ISSUED), self._collect, "capture")
        new = await store.profiles(state=ProfileState.NEW)
        await for_each(new, self._end_if_vain, "capture")
        if new:
            await self._hand_over()

    async def _hand_over(self) -> None:
        """Issue the captures whose turn it is on a worker that has nothing to do."""
        for worker, queue in (await lab_turns(self._farm)).queues.items():
            turn = next(queue.order(), None)
            if turn is not None and not queue.handed and await self._issue(turn.wish.row):
                await keep_turn(self._farm, worker, turn)

    async def _request_of_search(self, search: SearchRow) -> None:
        if len(await self._farm.store.profiles_of_search(search.id)) == _SIDES:
            return
        report = await report_of(self._farm, search)
        if not report.mailable or report.headline is None:
            return
        for side in (report.headline.old, report.headline.new):
            built = await built_for(self._farm, search, side)
            await self._farm.store.ensure_profile(
                key=f"search:{search.id}:{side.sha}",
                token=uuid4().hex,
                image_id=(await ask_image(self._farm, built)).id,
                testbed=search.testbed,
                workload=search.workload,
                tunables=search.tunables,
                search_id=search.id,
                now=self._farm.now(),
            )

    async def _request_of_ab_test(self, ab_test: AbTestRow) -> None:
        """All variants, each series, while the boots go on: the captures are there when they end.

        Those that cannot be made, or are the base's very bytes, are left out.
        """
        sampling = [
            one for one in ab_test.series_names if not captures_removal_reason(self._farm, *one)
        ]
        if not sampling:
            return
        images = [await self._farm.store.image(variant.image_id) for variant in ab_test.variants]
        if any(image is None or image.state in _AWAITED for image in images):
            return
        kernels = [
            (image and image.digest, variant.tunables)
            for image, variant in zip(images, ab_test.variants, strict=True)
        ]
        sampled = {
            place
            for place, image in enumerate(images)
            if image and image.state == ImageState.BUILT and kernels[place] not in kernels[:place]
        }
        if 0 not in sampled or len(sampled) < _SIDES:
            return
        for testbed, workload in sampling:
            for place in sorted(sampled):
                await self._request_of_variant(ab_test, place, testbed, workload)

    async def _request_of_variant(
        self, ab_test: AbTestRow, place: int, testbed: str, workload: str
    ) -> None:
        variant = ab_test.variants[place]
        await self._farm.store.ensure_profile(
            key=f"ab-test:{ab_test.id}:{testbed}:{workload}:{place}",
            token=uuid4().hex,
            image_id=variant.image_id,
            testbed=testbed,
            workload=workload,
            tunables=variant.tunables,
            ab_test_id=ab_test.id,
            now=self._farm.now(),
        )

    async def _end_if_vain(self, row: ProfileRow) -> None:
        if row.ab_test_id is not None:
            ab_test = await self._farm.store.ab_test(row.ab_test_id)
            if ab_test is None or ab_test.state in {AbTestState.CANCELLING, AbTestState.CANCELLED}:
                await self._fail(row, "its comparison was cancelled")
                return
        image = await self._farm.store.image(row.image_id)
        if image is None or image.state in {ImageState.UNTESTABLE, ImageState.FAILED}:
            await self._fail(row, (image and image.reason) or "its image does not exist")

    async def _issue(self, wanted: ClaimRow | CaptureClaimRow) -> bool:
        """Hand a capture over whose turn it is; say whether it is one, and has a builder."""
        if isinstance(wanted, ClaimRow):
            return False
        row = await self._farm.store.profile(wanted.id)
        if row is None:
            return False
        image = await self._farm.store.image(row.image_id)
        if image is None:
            return False
        brid = await self._issuer.request(
            name=f"bench-profile:{row.id}:{row.attempt}",
            builder=profile_builder(row.testbed),
            revision=image.sha,
            reason=f"see where the cycles of {image.label} go: {row.workload}",
            priority=Priority.SEARCH if row.ab_test_id is None else Priority.PERSON,
            repository=image.repository,
            properties={
                "bench_profile": row.id,
                "bench_image": image.id,
                "bench_label": image.label,
                "bench_workload": row.workload,
            },
        )
        if brid is not None:
            await self._farm.store.change(row, state=ProfileState.ISSUED, brid=brid)
        return brid is not None

    async def _collect(self, row: ProfileRow) -> None:
        """A build that ended and left its request open did so without a word of the job."""
        if not await request_has_ended(self._master, row.brid):
            return
        self._farm.store.look_again()
        current = await self._farm.store.profile(row.id)
        if current is None or current.state != ProfileState.ISSUED:
            return
        if current.attempt + 1 >= MAX_ATTEMPTS:
            await self._fail(current, current.failure or "its build was stopped again and again")
            return
        # Whoever asks again attaches to the job by its token.
        await self._farm.store.change(
            current, state=ProfileState.NEW, attempt=current.attempt + 1, brid=None
        )

    async def _fail(self, row: ProfileRow, why: str) -> None:
        await self._farm.end(row, ProfileState.FAILED, failure=why)
