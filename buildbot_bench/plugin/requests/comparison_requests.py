"""What people may ask of comparisons: start, cancel, decide; the broker carries it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.variant import parse_recipe
from buildbot_bench.plugin.broker.ask import ask_image
from buildbot_bench.plugin.db.finding_rows import AbTestRow, NewAbTest
from buildbot_bench.plugin.db.rows import ImageRow
from buildbot_bench.plugin.db.states import AbTestState, ImageState
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.plugin.farm.series import Series, all_series, testbed_of
from buildbot_bench.plugin.requests.variants import Variant, find_variant

Json = dict[str, Any]

DEFAULT_ITERATIONS = 5
MIN_ITERATIONS, MOST_ITERATIONS = 3, 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonQuestion:
    """A comparison that a person thinks of; empty testbeds or workloads mean all of them.

    `patches` holds the bytes of each file that a variant names, by its name.
    """

    base: str
    new: str
    testbeds: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    iterations: int = DEFAULT_ITERATIONS
    min_effect: float | None = None
    patches: Mapping[str, bytes] = field(default_factory=dict)


class ComparisonRequests:
    """Answers people who compare variants."""

    def __init__(self, farm: Farm) -> None:
        self._farm = farm

    async def start(
        self, question: ComparisonQuestion, requester: str, *, trusted: bool = True
    ) -> Json:
        """Start one and say how many boots it takes.

        The patches of somebody who is not trusted wait for approval, unless they are built already.

        Raises:
            UsageError: A variant cannot be understood, or both are the same.
        """
        wanted = self._series_of_job(question)
        base = await self._variant(question.base, question, requester)
        new = await self._variant(question.new, question, requester)
        if (base.built.variant, base.tunables) == (new.built.variant, new.tunables):
            raise UsageError(f"{question.base} and {question.new} are the same variant")
        ab_test = await self._add(question, base, new, wanted, requester, trusted=trusted)
        self._farm.wake()
        return {
            "comparisonid": ab_test.id,
            "state": str(ab_test.state),
            "base": base.label,
            "new": new.label,
            "series": [list(series) for series in ab_test.series],
            "boots": 2 * ab_test.iterations * len(ab_test.series),
            "hours": self._hours(wanted, ab_test.iterations),
        }

    async def _add(
        self,
        question: ComparisonQuestion,
        base: Variant,
        new: Variant,
        wanted: Sequence[Series],
        requester: str,
        *,
        trusted: bool,
    ) -> AbTestRow:
        base_image = await self._image(base, trusted=trusted)
        new_image = await self._image(new, trusted=trusted)
        held = ImageState.HELD in {base_image.state, new_image.state}
        return await self._farm.store.add_ab_test(
            NewAbTest(
                base_image_id=base_image.id,
                base_tunables=base.tunables,
                base_label=base.label,
                new_image_id=new_image.id,
                new_tunables=new.tunables,
                new_label=new.label,
                series=[(series.testbed, series.workload) for series in wanted],
                iterations=question.iterations,
                confidence=self._farm.workflow.regression.confidence,
                min_effect=question.min_effect or self._min_effect(wanted),
                requester=requester,
                state=AbTestState.AWAITING if held else AbTestState.RUNNING,
            ),
            now=self._farm.now(),
        )

    def _min_effect(self, wanted: Sequence[Series]) -> float:
        """That of its testbeds when they have one in common, else the farm's."""
        workflow = self._farm.workflow
        chosen = {workflow.min_effect_on(series.testbed) for series in wanted}
        return chosen.pop() if len(chosen) == 1 else workflow.regression.min_effect

    async def cancel(self, ab_test_id: int) -> None:
        """End one; what has ended stays as it is.

        Raises:
            UsageError: There is no such comparison.
        """
        ab_test = await self._farm.store.ab_test(ab_test_id)
        if ab_test is None:
            raise UsageError(f"there is no comparison {ab_test_id}")
        if ab_test.state in {AbTestState.RUNNING, AbTestState.AWAITING}:
            await self._farm.store.change_ab_test(ab_test, state=AbTestState.CANCELLING)
            self._farm.wake()

    async def decide(self, ab_test_id: int, by: str, *, approved: bool) -> None:
        """Let a comparison run whose patches await approval, or end it unbuilt.

        Raises:
            UsageError: There is no such comparison, or nothing to decide about it.
        """
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
            raise UsageError(f"somebody else was quicker with comparison {ab_test_id}")
        self._farm.wake()

    async def _image(self, variant: Variant, *, trusted: bool) -> ImageRow:
        strange = bool(parse_recipe(variant.built.variant).patches)
        return await ask_image(self._farm, variant.built, approved=trusted or not strange)

    async def _variant(self, written: str, question: ComparisonQuestion, requester: str) -> Variant:
        return await find_variant(
            self._farm, written, patches=question.patches, requester=requester
        )

    def _series_of_job(self, question: ComparisonQuestion) -> list[Series]:
        known = all_series(self._farm.workflow.bench_jobs)
        for what, named, there in (
            ("testbed", question.testbeds, {series.testbed for series in known}),
            ("workload", question.workloads, {series.workload for series in known}),
        ):
            if strange := sorted(set(named) - there):
                raise UsageError(
                    f"this farm has no {what} {strange[0]!r}",
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

    def _hours(self, wanted: list[Series], iterations: int) -> float:
        """How long the busiest testbed boots and blasts; builds come before."""
        spent: dict[str, float] = {}
        for series in wanted:
            testbed = testbed_of(self._farm, series.testbed)
            cost = 2 * iterations * (testbed.boot_s + testbed.run_s)
            spent[series.testbed] = spent.get(series.testbed, 0.0) + cost
        return max(spent.values()) / 3600
