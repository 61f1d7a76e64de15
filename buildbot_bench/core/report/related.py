"""What a report says of commits beside its culprit: those inside a merge, reverts and picks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import one_line, shorten
from buildbot_bench.core.model.thresholds import is_change
from buildbot_bench.core.report.model import (
    AddedSection,
    InsideMerge,
    Report,
    ReportKind,
    StepReport,
)
from buildbot_bench.core.report.words import (
    SUBJECT_SHA_LENGTH,
    count,
    named,
    threshold,
    what_changed,
)
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.search import Costs, SearchPolicy, forecast

_SUBJECT_COLUMNS = 60
_UNDECIDED = frozenset({ReportKind.INCONCLUSIVE, ReportKind.SLOPE})
_ITSELF = "It is the merge itself: neither of its parents is {} alone{}."
_BY_HAND = "its tree is not the one that git makes of its parents"


@dataclass(frozen=True, kw_only=True, slots=True)
class Inside:
    """What came of the search inside a merge; `why` is why there is no report.

    `shown` are the commits that the merge brought. Each was measured merged with `onto`, or as it
    stands where that is None.
    """

    merge: Revision
    shown: RevisionRange
    onto: Revision | None
    report: Report | None = None
    why: str = ""

    @property
    def is_by_hand(self) -> bool:
        """Whether the merge has another tree than git makes of its parents."""
        return self.shown.new.sha == self.merge.sha

    @property
    def is_merge_alone(self) -> bool:
        """Whether nothing that the merge brought changes anything before the merge does."""
        return self.shown.n == 1 and self.is_by_hand

    @property
    def suspects(self) -> tuple[Revision, ...]:
        """The commits inside the merge that may be the culprit; none where it is the merge."""
        if self.report is None or self.report.headline is None:
            return ()
        suspects = self.report.headline.suspects
        return () if [one.sha for one in suspects] == [self.merge.sha] else suspects

    @property
    def culprit(self) -> Revision | None:
        """The one suspect inside the merge, None where it is the merge itself or not known."""
        return self.suspects[0] if len(self.suspects) == 1 else None


def expected_inside(
    sizes: Sequence[int],
    commits: int,
    costs: Costs,
    policy: SearchPolicy,
    item: ItemUnderTest = ItemUnderTest.COMMAND,
) -> str:
    """A sentence on what a search inside a merge of the range takes more; empty without merges."""
    if not sizes:
        return ""
    inside = forecast(max(sizes), costs, policy)
    return (
        f"{len(sizes)} of {count(commits, 'commit')} merge others: inside such a one, of "
        f"{count(max(sizes), 'commit')} at most, the search takes about "
        f"{count(round(inside.iterations[0]), item.iteration)} more"
    )


def with_insides(report: Report, insides: Sequence[Inside]) -> Report:
    """The report of a merge with what was found inside it, and inside a merge in it, and so on."""
    if not insides or report.headline is None or report.headline.new.sha != insides[0].merge.sha:
        return report
    outer = [report, *(one.report for one in insides if one.report)]
    added = tuple(section_of(of, one) for of, one in zip(outer, insides, strict=False))
    found = [one.culprit for one in insides if one.culprit]
    what, sure = report.summary
    subject = report.subject
    if found:
        what = f"{what} Inside this merge it is {_introduced(found[-1])}."
        merge = named(insides[0].merge)
        subject = subject.replace(merge, f"{merge}, inside it {_hash(found[-1])}", 1)
    return replace(
        report,
        subject=subject,
        summary=(what, sure),
        inside=tuple(
            InsideMerge(merge=one.merge, commits=one.shown.n, culprit=one.culprit)
            for one in insides
        ),
        added=(*report.added, *added),
    )


def section_of(report: Report, inside: Inside) -> AddedSection:
    """What is said of a merge and of the search inside it; `report` is the one that found it."""
    merge = inside.merge
    of = [step for step in report.steps if step.new.sha == merge.sha]
    lines = [what_changed(step, report.setting) for step in of]
    subject = shorten(merge.subject, _SUBJECT_COLUMNS)
    lines.append(f'{named(merge)} "{subject}" is a merge of {count(inside.shown.n, "commit")}.')
    match inside.report:
        case None if inside.why:
            lines.append(f"Inside it nothing could be measured: {inside.why}.")
        case Report(kind=ReportKind.NOT_REPRODUCED) if _is_below(report, of):
            lines.append(
                f"Inside it nothing reaches {threshold(report.setting.min_effect)}, as the merge "
                "does not: a smaller --min-effect finds the commit."
            )
        case Report(kind=kind) as deeper if inside.suspects or kind in _UNDECIDED:
            lines.append(f"Inside it: {deeper.summary[0]} {_how(inside)}")
        case _:
            worse = "slow" if any(step.regression for step in of) else "fast"
            lines.append(_ITSELF.format(worse, f", and {_BY_HAND}" if inside.is_by_hand else ""))
    return AddedSection(title=f"Inside the merge {merge.label}", lines=tuple(lines))


def _is_below(report: Report, steps: Sequence[StepReport]) -> bool:
    """Whether steps are smaller than what the search was asked for, be they sure."""
    return not any(is_change(step.effect, report.setting.min_effect) for step in steps)


def _how(inside: Inside) -> str:
    if inside.onto is not None:
        told = f"Each commit was measured merged with {named(inside.onto)}."
        return f"{told} The merge had more done to it: {_BY_HAND}." if inside.is_by_hand else told
    return (
        "Not all commits of the branch merge without a conflict: each was measured as it stands, "
        f"from {named(inside.shown.old)}, where the branch left."
    )


def _introduced(revision: Revision) -> str:
    return f'commit {_hash(revision)} "{shorten(revision.subject, _SUBJECT_COLUMNS)}"'


def _hash(revision: Revision) -> str:
    return revision.sha[:SUBJECT_SHA_LENGTH]


MOST_ASKED = 5
"""Steps of a report whose commits are looked up."""
_SHOWN_OF_HASH = 12


class Relation(StrEnum):
    """What another commit is to a culprit."""

    REVERTED_BY = "was reverted by"
    REVERTS = "reverts"
    PICKED_AS = "was picked as"
    PICKED_FROM = "was picked from"


@dataclass(frozen=True, kw_only=True, slots=True)
class Kin:
    """Another commit, `branch` that has it, empty of none; `by_patch`: no message says so."""

    relation: Relation
    sha: str
    subject: str = ""
    branch: str = ""
    by_patch: bool = False


def commits_to_ask(report: Report) -> tuple[str, ...]:
    """The commits that a report names alone: those inside merges, then the headline's."""
    steps = [*([report.headline] if report.headline else ()), *report.other_steps]
    inside = [one.culprit.sha for one in report.inside if one.culprit]
    alone = (step.suspects[0].sha for step in steps if len(step.suspects) == 1)
    return tuple(dict.fromkeys((*inside, *alone)))[:MOST_ASKED]


def with_kin(report: Report, between: RevisionRange, kin: Mapping[str, Iterable[Kin]]) -> Report:
    """The report with what is to be said of the kin of its commits."""
    labels = {revision.sha: revision.label for revision in between.revisions}
    lines = [
        _line(labels.get(sha, sha[:_SHOWN_OF_HASH]), one, labels)
        for sha in commits_to_ask(report)
        for one in kin.get(sha, ())
    ]
    if not lines:
        return report
    section = AddedSection(title="Reverts and picks", lines=tuple(lines))
    return replace(report, added=(*report.added, section))


def _line(culprit: str, kin: Kin, labels: Mapping[str, str]) -> str:
    said: Sequence[str] = (
        f"{culprit} {kin.relation}",
        f"{labels[kin.sha]} ({kin.sha[:_SHOWN_OF_HASH]})"
        if kin.sha in labels
        else kin.sha[:_SHOWN_OF_HASH],
        "within the range" if kin.sha in labels else f"on {kin.branch}" if kin.branch else "",
        "by its patch" if kin.by_patch else "",
    )
    place = " ".join(word for word in said if word)
    return one_line(f"{place}: {kin.subject}" if kin.subject else place, columns=200)
