"""A local search that goes on inside the merges that it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import shorten
from buildbot_bench.core.model.thresholds import is_change
from buildbot_bench.core.report.model import AddedSection, Report, ReportKind, StepReport
from buildbot_bench.core.report.words import count, named, threshold, what_changed
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Step, forecast
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import Bisection, SearchCourse
from buildbot_bench.local.campaign import LocalSearch, Watcher
from buildbot_bench.local.known import Known
from buildbot_bench.local.merges import Brought, Merges
from buildbot_bench.local.reports import report_of

_SUBJECT_COLUMNS = 60
_ITSELF = "It is the merge itself: neither of its parents is {} alone."


@dataclass(frozen=True, kw_only=True, slots=True)
class Inside:
    """What came of the search inside a merge; `why` is why there is no report."""

    merge: Revision
    brought: Brought
    report: Report | None = None
    why: str = ""

    @property
    def culprit(self) -> Revision | None:
        """The last suspect inside the merge, None where it is the merge itself or not known."""
        if self.report is None or self.report.headline is None:
            return None
        suspect = self.report.headline.suspects[-1]
        return None if suspect.sha == self.merge.sha else suspect


class SearchIntoMerges:
    """One search on a bench, down to a commit that is no merge; `skip` and `again` are names."""

    def __init__(
        self,
        bench: Bench,
        onlooker: Watcher[SearchCourse],
        merges: Merges,
        *,
        skip: Sequence[str] = (),
        again: Sequence[str] = (),
    ) -> None:
        self._bench, self._onlooker, self._merges = bench, onlooker, merges
        self._skip, self._again = skip, again

    def run(self, search: LocalSearch, shown: RevisionRange | None = None) -> Report:
        """Search to the answer, and on inside each merge of it; fails as `Bisection.run` does.

        `shown` are the commits that those of the range stand for.
        """
        known_as = shown or search.between
        found = Bisection(search, self._bench, self._onlooker).run()
        report = report_of(search, found, shown=known_as)
        if search.base and shown is None:
            report = replace(report, added=(AddedSection(title="Range", lines=(search.base,)),))
        if search.first_parent:
            return report
        steps = [step for step in found.answer.steps if _is_of_one_commit(step, search)]
        insides = [one for step in steps if (one := self._inside(search, known_as, step))]
        return _joined(report, insides)

    def _inside(self, search: LocalSearch, shown: RevisionRange, step: Step) -> Inside | None:
        """The search inside a step's commit, None where it is no merge."""
        before, merge = (shown.revisions[place] for place in (step.old, step.new))
        built = (search.between.revisions[place] for place in (step.old, step.new))
        brought = self._merges.brought(*built, shown=(before, merge))
        if brought is None:
            return None
        inside = Inside(merge=merge, brought=brought)
        if brought.shown.new.sha == merge.sha and brought.shown.n == 1:
            return inside
        self._onlooker.notice(
            f"{named(merge)} is a merge of {count(brought.shown.n, 'commit')}; "
            "the search goes on inside it"
        )
        within = replace(
            search,
            between=brought.built,
            merges=tuple(self._merges.sizes(brought.shown).values()),
            skipped=self._named(brought, self._skip),
            again=self._named(brought, self._again),
        )
        try:
            return replace(inside, report=self.run(within, brought.shown))
        except UsageError as error:
            return replace(inside, why=error.message.partition("\n")[0])

    def _named(self, brought: Brought, names: Sequence[str]) -> frozenset[int]:
        return self._merges.revisions.named_in(brought.shown, names, elsewhere=True)


def expected_inside(sizes: Sequence[int], known: Known) -> str:
    """A sentence on what a search inside a merge of the range takes more; empty without merges."""
    if not sizes:
        return ""
    inside = forecast(max(sizes), known.costs, known.policy)
    return (
        f"{len(sizes)} of {count(known.between.n, 'commit')} merge others: inside such a one, of "
        f"{count(max(sizes), 'commit')} at most, the search takes about "
        f"{count(round(inside.iterations[0]), 'run')} more"
    )


def _is_of_one_commit(step: Step, search: LocalSearch) -> bool:
    return step.new == step.old + 1 and step.probability >= 1 - search.terms.error


def _joined(report: Report, insides: Sequence[Inside]) -> Report:
    """One report: that of the search inside the headline's merge, where it found a commit."""
    added = tuple(section_of(report, inside) for inside in insides)
    headline = report.headline
    for inside in insides:
        deeper = inside.report
        if headline and deeper and inside.culprit and headline.new.sha == inside.merge.sha:
            others = [step for step in report.steps if step is not headline]
            told = [what_changed(step, report.setting) for step in others]
            more = [AddedSection(title="Other steps outside the merge", lines=tuple(told))]
            return replace(deeper, added=(*added, *(more if told else ()), *deeper.added))
    return replace(report, added=(*report.added, *added))


def section_of(report: Report, inside: Inside) -> AddedSection:
    """What is said of a merge and of the search inside it."""
    merge, brought = inside.merge, inside.brought
    of = [step for step in report.steps if step.new.sha == merge.sha]
    lines = [what_changed(step, report.setting) for step in of]
    subject = shorten(merge.subject, _SUBJECT_COLUMNS)
    lines.append(f'{named(merge)} "{subject}" is a merge of {count(brought.shown.n, "commit")}.')
    match inside:
        case (
            Inside(culprit=Revision(), report=Report() as deeper)
            | Inside(report=Report(kind=ReportKind.INCONCLUSIVE) as deeper)
        ):
            lines.append(f"Inside it: {deeper.summary[0]} {_how(brought)}")
        case Inside(report=Report(kind=ReportKind.NOT_REPRODUCED)) if _is_below(report, of):
            lines.append(
                f"Inside it nothing reaches {threshold(report.setting.min_effect)}, as the merge "
                "does not: a smaller --min-effect finds the commit."
            )
        case Inside(why=why) if why:
            lines.append(f"Inside it nothing could be measured: {why}.")
        case _:
            worse = "slow" if any(step.regression for step in of) else "fast"
            lines.append(_ITSELF.format(worse))
    return AddedSection(title=f"Inside the merge {merge.label}", lines=tuple(lines))


def _is_below(report: Report, steps: Sequence[StepReport]) -> bool:
    """Whether steps are smaller than what the search was asked for, be they sure."""
    return not any(is_change(step.effect, report.setting.min_effect) for step in steps)


def _how(brought: Brought) -> str:
    if brought.onto is not None:
        return f"Each commit was measured merged with {named(brought.onto)}."
    return (
        "Not all commits of the branch merge without a conflict: each was measured as it stands, "
        f"from {named(brought.shown.old)}, where the branch left."
    )
