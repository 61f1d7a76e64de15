"""A comparison of two to sixteen revisions from its question to its report; it decides nothing.

The order of the runs, the verdicts and what further images they need are those of the farm's
comparisons (core.ab_test).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from buildbot_bench.core.ab_test import (
    MIN_VARIANTS,
    AbTestReport,
    BootLimits,
    ComparedVariant,
    ComparisonTerms,
    SeriesValues,
    VariantPlan,
    compose_ab_test,
    more_images,
    next_block,
)
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.revision import Revision
from buildbot_bench.core.sample import NoiseClass
from buildbot_bench.core.wire import FailureKind
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.bisecting import Watcher
from buildbot_bench.local.reports import CONFIDENCE, machine
from buildbot_bench.local.store import StoredBuild, StoredRun

_NOT_HEEDED = "the build does not heed BENCH_IMAGE, another image came out as the first"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One of the revisions, and what it is called."""

    label: str
    revision: Revision


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalComparison:
    """What is compared, the base first; `min_effect` is a fraction."""

    variants: tuple[Compared, ...]
    limits: BootLimits
    min_effect: float


class Compare:
    """One comparison on a bench."""

    def __init__(self, question: LocalComparison, bench: Bench, onlooker: Watcher) -> None:
        self._question, self._bench, self._onlooker = question, bench, onlooker
        first = {0: question.limits.boots}
        self._plans = [VariantPlan(boots=first) for _ in question.variants]
        self._alike = not bench.campaign.recipe.steps

    def run(self) -> AbTestReport:
        """Build and measure until the verdicts need no more.

        Raises UntestableRevision: one does not build or run. Raises InfraError: the machine
        or the command keeps it from going on.
        """
        firsts = [self._built(one, 0) for one in self._question.variants]
        same = _no_ops(firsts)
        aside = set(same)
        while True:
            self._measure(aside)
            if self._alike or len(firsts) - len(aside) < MIN_VARIANTS:
                break
            wanted = more_images(
                self._values(),
                self._plans,
                self._question.limits,
                self._terms(),
                booted=[place for place in range(len(firsts)) if place not in aside],
            )
            if list(wanted) == self._plans or not self._further(wanted):
                break
        detail = [
            f"no-op change: {self._question.variants[place].label} builds the same as "
            f"{self._question.variants[other].label}"
            for place, other in same.items()
        ]
        return self._report("; ".join(detail))

    def _built(self, one: Compared, ordinal: int) -> StoredBuild:
        """An image, built if it is not there.

        Raises:
            UntestableRevision: It does not build.
        """
        named = f"{one.label}, image {ordinal}" if ordinal else one.label
        known = self._bench.image(one.revision.sha, ordinal)
        if known is None or known.reason is not None or not self._bench.has(known):
            self._onlooker.notice(f"building {named}")
            known = self._bench.build(one.revision, ordinal)
        if known.reason is not None:
            raise UntestableRevision(f"{named} cannot be built: {known.reason}")
        return known

    def _measure(self, aside: set[int]) -> None:
        """Run until all that is planned is there.

        Raises InfraError: the machine or the command keeps it from going on.

        Raises:
            UntestableRevision: One does not run.
        """
        places = [place for place in range(len(self._plans)) if place not in aside]
        wanted = [self._plans[place].boots for place in places]
        total = sum(sum(boots.values()) for boots in wanted)
        while True:
            runs = self._runs()
            done = [Counter(number for number, _ in runs[place]) for place in places]
            block = next_block(done, wanted)
            if block is None:
                return
            one = self._question.variants[places[block.variant]]
            image = self._built(one, block.image)
            self._bench.measure(image, self._onlooker.notice)
            last = self._bench.iterations()[-1]
            if last.kind is FailureKind.UNTESTABLE:
                raise UntestableRevision(
                    f"{one.label} cannot be measured: {last.failure}\n{last.log}".rstrip()
                )
            if last.value is not None:
                number = sum(map(Counter.total, done)) + 1
                self._onlooker.notice(
                    f"{number} of {total} runs  {one.label}  {last.value:.6g} {last.unit}"
                )

    def _further(self, wanted: Sequence[VariantPlan]) -> bool:
        """Take over what is wanted more; False where the build gives no other image."""
        for place, plan in enumerate(wanted):
            first = self._bench.image(self._question.variants[place].revision.sha, 0)
            for number in plan.boots:
                if number and first is not None:
                    made = self._built(self._question.variants[place], number)
                    if made.kernel == first.kernel:
                        self._alike = True
                        return False
        self._plans = list(wanted)
        return True

    def _runs(self) -> list[list[tuple[int, StoredRun]]]:
        """By variant the runs that gave a value on this machine, each with its image's number."""
        rows = {row.id: row for row in self._bench.images()}
        places = {one.revision.sha: n for n, one in enumerate(self._question.variants)}
        found: list[list[tuple[int, StoredRun]]] = [[] for _ in places]
        for run in self._bench.iterations():
            row = rows.get(run.image_id)
            if row and row.sha in places and run.value is not None and run.epoch == EPOCH:
                found[places[row.sha]].append((row.ordinal, run))
        return found

    def _values(self) -> SeriesValues:
        runs = self._runs()
        ordered = sorted((run.id, place) for place, own in enumerate(runs) for _, run in own)
        images = [self._bench.image(one.revision.sha, 0) for one in self._question.variants]
        newest = max((run for own in runs for _, run in own), key=lambda run: run.id, default=None)
        return SeriesValues(
            testbed=machine(),
            workload=self._bench.campaign.name,
            metric=self._bench.campaign.workload.metric,
            values=tuple(tuple(run.value or 0.0 for _, run in own) for own in runs),
            kernels=tuple(image.id if image else -1 for image in images),
            booted=tuple(tuple(number for number, _ in own) for own in runs),
            single=(self._why_single(),) * len(runs),
            order=tuple(place for _, place in ordered),
            epoch=EPOCH,
            facts=newest.facts if newest else {},
            item=ItemUnderTest.COMMAND,
        )

    def _why_single(self) -> str:
        if self._bench.campaign.workload.metric.noise is NoiseClass.EXACT:
            return "what is counted does not depend on the link order"
        if not self._bench.campaign.recipe.steps:
            return "nothing is built"
        if self._question.limits.images == 1:
            return "one of each was asked for"
        return _NOT_HEEDED if self._alike else ""

    def _terms(self) -> ComparisonTerms:
        return ComparisonTerms(min_effect=self._question.min_effect, confidence=CONFIDENCE)

    def _report(self, detail: str) -> AbTestReport:
        return compose_ab_test(
            [self._values()],
            comparison_id=self._bench.id,
            variants=[
                ComparedVariant(
                    label=one.label, variant=f"{one.revision.short_sha} {one.revision.subject}"
                )
                for one in self._question.variants
            ],
            iterations=self._question.limits.boots,
            images=1 if self._alike else self._question.limits.images,
            confidence=CONFIDENCE,
            min_effect=self._question.min_effect,
            detail=detail,
        )


def _no_ops(images: Sequence[StoredBuild]) -> dict[int, int]:
    """The places of those that are the same as one before, and of which."""
    found: dict[str, int] = {}
    same: dict[int, int] = {}
    for place, image in enumerate(images):
        if image.kernel is not None and image.kernel in found:
            same[place] = found[image.kernel]
        elif image.kernel is not None:
            found[image.kernel] = place
    return same
