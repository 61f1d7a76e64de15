"""Requests for comparisons: what they may hold, reuse and cost."""

from collections.abc import Sequence

from buildbot_bench.api.answers import AbTestState
from buildbot_bench.api.requests import MOST_BOOTS, ComparisonQuestion, Extension
from buildbot_bench.core.compare.schedule import epoch_name, of_newest_epoch
from buildbot_bench.core.compare.variants import Identity, check_identities, check_written
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.json_model import Json, shared
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.revision import branch_in
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.broker.ask import ask_image
from buildbot_bench.plugin.db.ab_test_rows import AbTestRow, AbTestVariant, NewAbTest
from buildbot_bench.plugin.db.columns import ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Series, all_series
from buildbot_bench.plugin.queries.evidence import item_of_comparison
from buildbot_bench.plugin.requests.variants import (
    Variant,
    announced,
    find_variant,
    refuse_one_too_many,
    refuse_too_many_boots,
)


def iterations_of(ab_test: AbTestRow, asked: Extension, item: ItemUnderTest) -> int:
    """How many boots of each there are to be."""
    boots = f"{item.iteration}s"
    wanted = (asked.iterations or ab_test.iterations) + asked.more
    if wanted < ab_test.iterations:
        raise UsageError(
            f"comparison {ab_test.id} has {ab_test.iterations} {boots} of each, not {wanted}",
            hint="nothing measured is thrown away: ask for as many or more",
        )
    if wanted > MOST_BOOTS:
        raise UsageError(
            f"{wanted} {boots} of each are too many: {MOST_BOOTS} are the most",
            hint=f"comparison {ab_test.id} has {ab_test.iterations}",
        )
    return wanted


def images_of(ab_test: AbTestRow, asked: Extension) -> int:
    """How many images of each there may be."""
    wanted = asked.images or ab_test.images
    known = 1 + max((one.number for one in ab_test.further), default=0)
    if wanted < known:
        raise UsageError(
            f"comparison {ab_test.id} has {known} images of a variant, not {wanted}",
            hint="nothing measured is thrown away: ask for as many or more",
        )
    return wanted


async def refuse_other_epoch(farm: Farm, ab_test: AbTestRow, more: Sequence[str]) -> None:
    """Look whether the lab is still the one in which a comparison was measured.

    The lab's epoch is known from what it measured last. Where it changed since, the broker learns
    so from the first boot, and measures all variants again in the new epoch.
    """
    rows = await farm.store.iterations_of_ab_test(ab_test.id)
    for testbed in dict.fromkeys(testbed for testbed, _ in ab_test.series):
        own, _ = of_newest_epoch([r for r in rows if r.testbed == testbed and r.value is not None])
        now = await farm.store.newest_epoch(testbed)
        if own and now is not None and own[0].epoch != now:
            variants = " ".join([*(one.variant for one in ab_test.variants), *more])
            raise UsageError(
                f"comparison {ab_test.id} was measured in {epoch_name(own[0].epoch)} of {testbed},"
                f" which is in {epoch_name(now)} now: no comparison mixes epochs",
                hint=f"measure all of it again: `bench-compare {variants}`",
            )


class ComparisonRequests:
    """Answers people who compare variants."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def start(
        self,
        question: ComparisonQuestion,
        requester: str,
        *,
        trusted: bool = True,
        key: str | None = None,
    ) -> Json:
        """Start one and say how many boots it takes; one with a `key` is not started twice.

        The patches of somebody who is not trusted wait for approval, unless they are built already.
        Raises UsageError for a variant that cannot be understood, for two that are the same, for
        labels that do not fit, and for more than somebody who is not trusted may have.
        """
        check_written(question.variants, question.labels)
        wanted = self._series_of_job(question)
        await refuse_one_too_many(self._farm, requester, trusted=trusted)
        boots = len(question.variants) * question.iterations * len(wanted)
        await refuse_too_many_boots(self._farm, requester, boots, trusted=trusted)
        found = await self._variants(question, requester, trusted=trusted)
        check_identities([_identity(*one) for one in found])
        rows, held = await self._rows(found, trusted=trusted)
        ab_test = await self._farm.store.add_ab_test(
            NewAbTest(
                variants=rows,
                series=[series.name for series in wanted],
                iterations=question.iterations,
                images=question.images,
                confidence=self._farm.workflow.regression.confidence,
                min_effect=question.min_effect or self._min_effect(wanted),
                requester=requester,
                state=AbTestState.AWAITING if held else AbTestState.RUNNING,
                priority=question.priority,
                limited=not trusted,
                key=key,
            ),
            now=self._farm.now(),
        )
        self._farm.wake()
        return await announced(self._farm, ab_test, known=0)

    async def extend(
        self, ab_test_id: int, asked: Extension, requester: str, *, trusted: bool = True
    ) -> Json:
        """Give a comparison more boots or variants, or let it go on; nothing is measured again.

        What it boots from then on is on the account of `requester`. Another's comparison waits
        neither for the boots of a day nor for the patches of somebody who is not trusted.
        """
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            raise UsageError(f"there is no comparison {ab_test_id}")
        if ab_test.state in {AbTestState.REJECTED, AbTestState.CANCELLING}:
            raise UsageError(
                f"comparison {ab_test_id} is {ab_test.state}", hint="start another one"
            )
        if not (trusted or ab_test.ended or requester == ab_test.payer):
            raise UsageError(
                f"comparison {ab_test_id} is {ab_test.state} on the account of {ab_test.payer}",
                hint="extend it when it has ended, or start one of your own",
            )
        item = await item_of_comparison(self._farm, ab_test)
        iterations, images = iterations_of(ab_test, asked, item), images_of(ab_test, asked)
        known = [variant.variant for variant in ab_test.variants]
        check_written(asked.variants, asked.labels, known=known)
        await refuse_other_epoch(self._farm, ab_test, asked.variants)
        if ab_test.ended:
            await refuse_one_too_many(self._farm, requester, trusted=trusted)
        more = len(ab_test.variants) * (iterations - ab_test.iterations)
        more += len(asked.variants) * iterations
        boots = more * len(ab_test.series)
        await refuse_too_many_boots(self._farm, requester, boots, trusted=trusted)
        found = await self._variants(asked, requester, trusted=trusted)
        there = [await self._known(variant) for variant in ab_test.variants]
        check_identities([*there, *(_identity(*one) for one in found)])
        rows, held = await self._rows(found, trusted=trusted)
        held = await self._ask_again(ab_test, trusted=trusted) or held
        if held and requester != ab_test.requester:
            raise UsageError(
                f"comparison {ab_test_id} of {ab_test.requester} would wait for approval",
                hint="start one of your own, whose patches somebody approves",
            )
        keeps_priority = trusted or requester == ab_test.payer
        extended = await self._farm.store.change_ab_test(
            ab_test,
            more=rows,
            iterations=iterations,
            images=images,
            state=AbTestState.AWAITING if held else AbTestState.RUNNING,
            detail=None,
            ended_at=None,
            resumed_at=self._farm.now(),
            extended_by=requester,
            limited=not trusted,
            priority=ab_test.priority if keeps_priority else PersonPriority.NORMAL,
        )
        if extended is None:
            raise UsageError(f"comparison {ab_test_id} has just changed", hint="ask again")
        self._farm.wake()
        there_are = len(ab_test.variants) * ab_test.iterations
        return await announced(self._farm, extended, known=there_are)

    async def _variants(
        self, asked: ComparisonQuestion | Extension, requester: str, *, trusted: bool
    ) -> list[tuple[Variant, str]]:
        """What each name means, and what it is to be called."""
        found = []
        for written in asked.variants:
            variant = await find_variant(
                self._farm,
                written,
                patches=asked.patches,
                requester=requester,
                trusted=trusted,
            )
            found.append((variant, asked.labels.get(written, variant.label)))
        return found

    async def _known(self, row: AbTestVariant) -> Identity:
        image = await self._farm.store.image(row.image_id)
        return Identity(
            recipe=branch_in(image.repository, image.variant) if image is not None else "",
            **shared(Identity, row),
        )

    async def _rows(
        self, found: Sequence[tuple[Variant, str]], *, trusted: bool
    ) -> tuple[list[AbTestVariant], bool]:
        """The variants as rows, and whether any of them is held until somebody approves it."""
        rows, held = [], False
        for variant, label in found:
            strange = bool(parse_recipe(variant.built.variant).patches)
            image = await ask_image(self._farm, variant.built, approved=trusted or not strange)
            held |= image.state == ImageState.HELD
            row = AbTestVariant(
                image_id=image.id,
                tunables=variant.tunables,
                variant=variant.label,
                label=label,
            )
            rows.append(row)
        return rows, held

    async def _ask_again(self, ab_test: AbTestRow, *, trusted: bool) -> bool:
        """What failed is built anew; whether any is held and not to be approved by who asks."""
        held = False
        for image in await self._farm.store.images_of_ab_test(ab_test.id):
            if image.state == ImageState.HELD:
                held |= not trusted
            elif image.state == ImageState.FAILED:
                await self._farm.change(image, state=ImageState.WANTED, attempt=0)
        return held

    def _min_effect(self, wanted: Sequence[Series]) -> float:
        """That of its testbeds when they have one in common, else the farm's."""
        workflow = self._farm.workflow
        chosen = {workflow.min_effect_on(series.testbed) for series in wanted}
        return chosen.pop() if len(chosen) == 1 else workflow.regression.min_effect

    async def cancel(self, ab_test_id: int) -> AbTestState:
        """End one, and say in which state it is then; what has ended stays as it is."""
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            raise UsageError(f"there is no comparison {ab_test_id}")
        if ab_test.state not in {AbTestState.RUNNING, AbTestState.AWAITING}:
            return ab_test.state
        changed = await self._farm.store.change_ab_test(ab_test, state=AbTestState.CANCELLING)
        if changed is None:  # it ended in this moment, or another was quicker to cancel it
            return await self.cancel(ab_test_id)
        self._farm.wake()
        return changed.state

    async def decide(self, ab_test_id: int, by: str, *, approved: bool) -> None:
        """Let a comparison run whose patches await approval, or end it unbuilt."""
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            raise UsageError(f"there is no comparison {ab_test_id}")
        if ab_test.state != AbTestState.AWAITING:
            raise UsageError(f"comparison {ab_test_id} awaits no approval: it is {ab_test.state}")
        decision: Json = {"state": AbTestState.RUNNING}
        if not approved:
            why = f"its patches were rejected by {by}"
            decision = {"state": AbTestState.REJECTED, "detail": why, "ended_at": self._farm.now()}
        if await self._farm.store.change_ab_test(ab_test, decided_by=by, **decision) is None:
            raise UsageError(f"another person has already decided about comparison {ab_test_id}")
        self._farm.wake()

    def _series_of_job(self, question: ComparisonQuestion) -> list[Series]:
        asked = {
            self._farm.history.repository(text.partition("+")[0]) for text in question.variants
        }
        known = [
            series
            for series in all_series(self._farm.workflow.bench_jobs)
            if asked.intersection(series.repositories)
        ]
        for what, named, there in (
            ("testbed", question.testbeds, {series.testbed for series in known}),
            ("workload", question.workloads, {series.workload for series in known}),
        ):
            if strange := sorted(set(named) - there):
                raise UsageError(
                    f"this farm has no {what} {quoted(strange[0])}",
                    hint=f"it has {', '.join(sorted(there))}",
                )
        fitting = [
            series
            for series in known
            if (not question.testbeds or series.testbed in question.testbeds)
            and (not question.workloads or series.workload in question.workloads)
        ]
        if not fitting:
            raise UsageError("none of these testbeds runs any of these workloads")
        return fitting


def _identity(variant: Variant, label: str) -> Identity:
    return Identity(
        recipe=branch_in(variant.built.repository, variant.built.variant),
        tunables=variant.tunables,
        variant=variant.label,
        label=label,
    )
