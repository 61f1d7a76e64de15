"""The composition of a local search's report, and the searches inside the merges that it finds."""

import platform
import shlex
from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.figures import count
from buildbot_bench.core.item import RANDOMISED_FACT, ItemUnderTest
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import (
    NOT_HEEDED,
    Context,
    ImageRecord,
    one_layout,
    replay_stages,
    runners_up,
)
from buildbot_bench.core.report.model import AddedSection, AppliedFix, ProbeRecord, Report, Setting
from buildbot_bench.core.report.related import Inside, section_of
from buildbot_bench.core.report.words import named, what_changed
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.core.search import PREBUILT, Step
from buildbot_bench.local.bench import Bench
from buildbot_bench.local.bisecting import Bisection, Found, SearchCourse
from buildbot_bench.local.campaign import LocalSearch, Watcher
from buildbot_bench.local.known import Known, LocalImage
from buildbot_bench.local.merges import Brought, Merges
from buildbot_bench.local.recipe import Carried

OF_OTHERS = "+prebuilt"
_LINES_SHOWN = 3  # of what the build of a revision printed that was skipped
CONFIDENCE = 95.0  # of Student's t, as ministat has it


def report_of(search: LocalSearch, found: Found, *, shown: RevisionRange | None = None) -> Report:
    """Everything that is to be said of a local search with an answer.

    `shown` are the commits that those of the range stand for, where these were made to be measured.
    """
    known = found.known
    question = (known.between.n, known.evidence, known.policy)
    times = frozenset(one.at_s for one in known.iterations if one.value is not None)
    return compose(
        range=shown or known.between,
        answer=found.answer,
        samples=known.samples,
        setting=_setting(search, found),
        probes=probe_records(known),
        untestable={
            place: _why_skipped(image)
            for (place, ordinal), image in known.images.items()
            if image.reason and not ordinal
        },
        no_ops=known.evidence.same_as_previous,
        reproduce=search.commands,
        known=Context(
            images=tuple(_records(search, known)),
            stages=replay_stages(*question, times),
            runners_up=runners_up(*question, found.answer),
            one_layout=_one_layout(search, known),
        ),
    )


def _why_skipped(image: LocalImage) -> str:
    """Return why a revision was not measured, with the last lines of what its build printed."""
    said, *output = image.reason.splitlines()
    return " / ".join(one_line(line, columns=200) for line in (said, *output[-_LINES_SHOWN:]))


def probe_records(known: Known) -> list[ProbeRecord]:
    """The runs of the range, in the order in which they ended."""
    images = {image.row.id: image for image in known.images.values() if image.row}
    return [
        ProbeRecord(
            serial=serial,
            label=_revision_of(known, images[one.image_id]),
            image=max(images[one.image_id].ordinal, 0),
            **shared(ProbeRecord, one),
        )
        for serial, one in enumerate(known.iterations, start=1)
    ]


def machine() -> str:
    """This machine's name, without its domain."""
    return one_line(platform.node().partition(".")[0], columns=40) or "this machine"


def command_line(program: str, revisions: Sequence[str], options: Sequence[str]) -> str:
    """A command as one types it."""
    return shlex.join([program, "--local", *revisions, *options])


def _setting(search: LocalSearch, found: Found) -> Setting:
    campaign = search.campaign
    return Setting(
        testbed=machine(),
        workload=campaign.name,
        metric=campaign.workload.metric,
        confidence=CONFIDENCE,
        min_effect=search.terms.min_effect,
        error=search.terms.error,
        farm="",
        search_id=found.search_id,
        carried=_carried(found.known, campaign.recipe.fix),
        item=ItemUnderTest.COMMAND,
    )


def _carried(known: Known, fix: str | None) -> AppliedFix | None:
    if fix is None:
        return None
    built = sorted(
        ((image.position, image.row) for image in known.images.values() if image.row),
        key=lambda pair: pair[0],
    )
    first = known.between.old.position
    return AppliedFix.of_builds(
        fix,
        applied=(row.sha for _, row in built if row.carried == Carried.APPLIED),
        left_out=(
            known.between.revisions[position - first].label
            for position, row in built
            if row.carried == Carried.NOT
        ),
    )


def _link_order(search: LocalSearch, known: Known) -> str:
    if not search.campaign.recipe.steps:
        return "nothing is built"
    if known.policy.images:
        return "as the build makes it by BENCH_IMAGE"
    return NOT_HEEDED


def _one_layout(search: LocalSearch, known: Known) -> str:
    """Why no step is separated from luck with the link order, and what was randomised instead."""
    if search.campaign.recipe.steps and known.policy.images:
        return ""
    said = [one.facts.get(RANDOMISED_FACT) for one in known.iterations if one.value is not None]
    return one_layout(search.campaign.workload.metric, _link_order(search, known), said)


def _records(search: LocalSearch, known: Known) -> list[ImageRecord]:
    """The images of the range that were measured."""
    runs: dict[int, list[frozenset[tuple[str, str]]]] = {}
    for one in known.iterations:
        if one.value is not None:
            runs.setdefault(one.image_id, []).append(frozenset(one.facts.items()))
    first = known.between.old.position
    order = _link_order(search, known)
    return [
        ImageRecord(
            position=image.position - first,
            label=_revision_of(known, image),
            ordinal=image.ordinal,
            digest=image.kernel,
            kernel=image.kernel,
            build_s=image.build_s,
            iterations=len(runs[image.row.id]),
            facts=frozenset({("link order", order)}).union(*runs[image.row.id]),
        )
        for image in known.images.values()
        if image.row and image.row.id in runs and image.ordinal != PREBUILT
    ]


def _revision_of(known: Known, image: LocalImage) -> str:
    label = known.between.revisions[image.position - known.between.old.position].label
    return f"{label}{OF_OTHERS}" if image.ordinal == PREBUILT else label


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
