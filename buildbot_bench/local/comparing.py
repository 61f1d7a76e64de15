"""A local comparison of two to thirty-two revisions, from its question to its report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from buildbot_bench.core.compare.model import ComparedVariant, ComparisonReport, SeriesValues
from buildbot_bench.core.compare.report import compose_comparison
from buildbot_bench.core.compare.schedule import (
    BootLimits,
    VariantPlan,
    more_for_all,
    next_block,
    no_op,
    same_as,
    verdicts_of,
    why_one_image,
)
from buildbot_bench.core.compare.suite import suite_series
from buildbot_bench.core.compare.variants import MIN_VARIANTS
from buildbot_bench.core.compare.verdict import (
    ComparisonTerms,
    SidesVerdict,
    Undecided,
    WithinLayoutLuck,
)
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.evidence import is_alike
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.words import count, duration
from buildbot_bench.core.revision import Revision
from buildbot_bench.local.bench import EPOCH, Bench
from buildbot_bench.local.campaign import Watcher, coarse_value
from buildbot_bench.local.reports import CONFIDENCE, machine
from buildbot_bench.local.store import StoredBuild, StoredRun

_TIMES_MORE = 8  # runs: so often what -n says, where no image is built, until it is decided
_NOT_HEEDED = "the build does not heed BENCH_IMAGE, another build came out as the first"


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """One of the revisions, and what it is called."""

    label: str
    revision: Revision


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalComparison:
    """What is compared, the base first; `min_effect` is a fraction.

    With `budget_s` it ends by then with what is known, in seconds from the command's beginning.
    """

    variants: tuple[Compared, ...]
    limits: BootLimits
    min_effect: float
    budget_s: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantCourse:
    """What is known of a variant: the values of its runs, of how many that are wanted."""

    label: str
    values: tuple[float, ...]
    wanted: int
    images: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonCourse:
    """A comparison as it stands: `now` is what is done, `last` the variant that ran last."""

    title: str
    unit: str
    variants: tuple[VariantCourse, ...]
    now: str
    is_building: bool = False
    last: VariantCourse | None = None

    @property
    def done(self) -> int:
        """How many runs have ended."""
        return sum(len(one.values) for one in self.variants)

    @property
    def total(self) -> int:
        """How many are wanted by now."""
        return sum(one.wanted for one in self.variants)


class Compare:
    """One comparison on a bench."""

    def __init__(
        self, question: LocalComparison, bench: Bench, onlooker: Watcher[ComparisonCourse]
    ) -> None:
        self._question, self._bench, self._onlooker = question, bench, onlooker
        first = {0: question.limits.boots}
        self._plans = [VariantPlan(boots=first) for _ in question.variants]
        self._alike = not bench.campaign.recipe.steps
        self._aside: set[int] = set()
        self.is_early = False

    def run(self) -> ComparisonReport:
        """Build and measure until the verdicts need no more.

        Raises UntestableRevision: one does not build or run. Raises InfraError: the machine
        or the command keeps it from going on.
        """
        workload, min_effect = self._bench.campaign.workload, self._question.min_effect
        if coarse := coarse_value(workload, self._bench.iterations(), min_effect):
            self._onlooker.notice(coarse)
        firsts = [self._built(one, 0) for one in self._question.variants]
        same = same_as([image.kernel for image in firsts])
        aside = self._aside = set(same)
        while True:
            self._measure(aside)
            if self.is_early:
                break
            unbuilt = not self._bench.campaign.recipe.steps
            if (self._alike and not unbuilt) or len(firsts) - len(aside) < MIN_VARIANTS:
                break
            limits = self._question.limits
            if unbuilt:
                limits = BootLimits(boots=_TIMES_MORE * limits.boots, images=1)
            wanted = self._wanted(limits, set(range(len(firsts))) - aside)
            if list(wanted) == self._plans or not self._further(wanted):
                break
        detail = [
            no_op(
                self._question.variants[place].label,
                self._question.variants[other].label,
                ItemUnderTest.COMMAND,
            )
            for place, other in same.items()
        ]
        if self.is_early:
            detail.append(f"the budget of {duration(self._question.budget_s or 0.0)} is spent")
        return self._report("; ".join(detail))

    def _wanted(self, limits: BootLimits, booted: set[int]) -> tuple[VariantPlan, ...]:
        """What is to be run by now; of a suite, say how many of its values are decided."""
        series, left_out = self._series()
        terms = ComparisonTerms(
            min_effect=self._question.min_effect, confidence=CONFIDENCE, values=len(series)
        )
        verdicts = [verdicts_of(values, terms, booted=booted) for values in series]
        if left_out is not None:
            decided = sum(not any(map(_is_open, one.values())) for one in verdicts)
            runs = count(min(sum(plan.boots.values()) for plan in self._plans), "run")
            self._onlooker.notice(
                f"{decided:,} of {len(series):,} values are decided, with {runs} of each"
            )
        return more_for_all(verdicts, self._plans, limits)

    def _built(self, one: Compared, ordinal: int) -> StoredBuild:
        """An image, built if it is not there."""
        named = f"{one.label}, build {ordinal}" if ordinal else one.label
        begin = partial(self._look, f"building {named}", is_building=True)
        return self._bench.built(one.revision, ordinal, named, self._onlooker, begin)

    def _measure(self, aside: set[int]) -> None:
        """Run until all that is planned is there.

        Raises InfraError: the machine or the command keeps it from going on.
        """
        places = [place for place in range(len(self._plans)) if place not in aside]
        wanted = [self._plans[place].boots for place in places]
        while True:
            runs = self._runs()
            done = [Counter(number for number, _ in runs[place]) for place in places]
            block = next_block(done, wanted)
            if block is None:
                return
            if all(done) and self._bench.is_spent(self._question.budget_s):
                self.is_early = True
                return
            one = self._question.variants[places[block.variant]]
            image = self._built(one, block.image)
            named = f"{one.label}, build {block.image}" if block.image else one.label
            self._look(f"measuring {named}")
            last = self._bench.run(image, one.label, self._onlooker)
            if last.value is not None:
                self._look("", last=places[block.variant])

    def _further(self, wanted: Sequence[VariantPlan]) -> bool:
        """Take over what is wanted more; False where the build gives no other image."""
        for place, plan in enumerate(wanted):
            first = self._bench.image(self._question.variants[place].revision.sha, 0)
            for number in plan.boots:
                if number and first is not None:
                    made = self._built(self._question.variants[place], number)
                    if is_alike(made, first):
                        self._alike = True
                        return False
        self._plans = list(wanted)
        return True

    def _look(self, now: str, *, is_building: bool = False, last: int | None = None) -> None:
        names = [one.label for one in self._question.variants]
        variants = tuple(
            VariantCourse(
                label=label,
                values=tuple(run.value or 0.0 for _, run in own),
                wanted=len(own)
                if place in self._aside
                else max(sum(plan.boots.values()), len(own)),
                images=len({number for number, _ in own}),
            )
            for place, (label, plan, own) in enumerate(
                zip(names, self._plans, self._runs(), strict=True)
            )
        )
        self._onlooker.show(
            ComparisonCourse(
                title=f"{', '.join(names[1:])} against {names[0]}: {self._bench.campaign.name}",
                unit=self._bench.campaign.workload.metric.unit,
                variants=variants,
                now=now,
                is_building=is_building,
                last=None if last is None else variants[last],
            )
        )

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
        steps = self._bench.campaign.recipe.steps
        newest = max((run for own in runs for _, run in own), key=lambda run: run.id, default=None)
        return SeriesValues(
            testbed=machine(),
            workload=self._bench.campaign.name,
            metric=self._bench.campaign.workload.metric,
            values=tuple(tuple(run.value or 0.0 for _, run in own) for own in runs),
            times=tuple(tuple(run.times for _, run in own if run.times) for own in runs),
            # Without a build there is no layout in which what is run could differ.
            kernels=tuple(image.id if image and steps else -1 for image in images),
            booted=tuple(tuple(number for number, _ in own) for own in runs),
            single=(self._why_single(),) * len(runs),
            order=tuple(place for _, place in ordered),
            epoch=EPOCH,
            facts=newest.facts if newest else {},
            item=ItemUnderTest.COMMAND,
        )

    def _series(self) -> tuple[list[SeriesValues], dict[str, str] | None]:
        """What is compared: of a suite each value, and why each of the others is not.

        Raises UntestableRevision: no value of the suite can be compared.
        """
        values = self._values()
        if not self._bench.campaign.workload.is_suite:
            return [values], None
        labels = [one.label for one in self._question.variants]
        named = [[run.named for _, run in own] for own in self._runs()]
        series, left_out = suite_series(values, named, labels)
        if not series:
            said = "; ".join(f"{name}: {why}" for name, why in islice(left_out.items(), 3))
            raise UntestableRevision(f"no value can be compared: {said}")
        return series, left_out

    def _why_single(self) -> str:
        campaign, most = self._bench.campaign, self._question.limits.images
        nothing = "" if campaign.recipe.steps else "nothing is built"
        return why_one_image(
            campaign.workload.metric,
            most=most,
            otherwise=nothing or (_NOT_HEEDED if self._alike and most > 1 else ""),
        )

    def _report(self, detail: str) -> ComparisonReport:
        series, left_out = self._series()
        return compose_comparison(
            series,
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
            left_out=left_out,
        )


def _is_open(verdict: SidesVerdict) -> bool:
    return isinstance(verdict, Undecided | WithinLayoutLuck)
