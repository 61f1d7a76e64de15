"""A local search that goes on inside the merges that it finds."""

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report.inside import Inside, section_of
from buildbot_bench.core.report.model import AddedSection, Report
from buildbot_bench.core.report.words import count, named, what_changed
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search import Step
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import Bisection, SearchCourse
from buildbot_bench.local.campaign import LocalSearch, Watcher
from buildbot_bench.local.merges import Brought, Merges
from buildbot_bench.local.reports import report_of


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
        inside = Inside(merge=merge, shown=brought.shown, onto=brought.onto)
        if inside.is_merge_alone:
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
            conflicts=brought.conflicts,
        )
        try:
            return replace(inside, report=self.run(within, brought.shown))
        except UsageError as error:
            return replace(inside, why=error.message.partition("\n")[0])

    def _named(self, brought: Brought, names: Sequence[str]) -> frozenset[int]:
        return self._merges.revisions.named_in(brought.shown, names, elsewhere=True)


def _is_of_one_commit(step: Step, search: LocalSearch) -> bool:
    return step.new == step.old + 1 and step.probability >= 1 - search.terms.error


def _joined(report: Report, insides: Sequence[Inside]) -> Report:
    """One report: that of the search inside the headline's merge, where it found a commit."""
    added = tuple(section_of(report, inside) for inside in insides)
    headline = report.headline
    for inside in insides:
        deeper = inside.report
        if headline and deeper and inside.suspects and headline.new.sha == inside.merge.sha:
            others = [step for step in report.steps if step is not headline]
            told = [what_changed(step, report.setting) for step in others]
            more = [AddedSection(title="Other steps outside the merge", lines=tuple(told))]
            return replace(deeper, added=(*added, *(more if told else ()), *deeper.added))
    return replace(report, added=(*report.added, *added))
