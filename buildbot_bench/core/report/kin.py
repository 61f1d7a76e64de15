"""The commits that take back a culprit, or carry it to another branch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.report.model import AddedSection, Report
from buildbot_bench.core.revision import RevisionRange

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
