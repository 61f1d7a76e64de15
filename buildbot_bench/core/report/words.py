"""How a finding is put into words and figures; it decides nothing about the finding itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

from buildbot_bench.core.incident import Standing
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.report.evidence_model import Candidate, Check, Cost, Outcome, ScopeRow
from buildbot_bench.core.report.model import (
    AppliedFix,
    Levels,
    Report,
    ReportKind,
    Setting,
    StepReport,
)
from buildbot_bench.core.report.slopes import SlopeReport
from buildbot_bench.core.revision import Revision, RevisionRange

SUBJECT_SHA_LENGTH = 10

_STANDINGS = {
    Standing.WAITING: "being confirmed",
    Standing.CONFIRMED: "confirmed",
    Standing.DENIED: "its own change lies elsewhere",
    Standing.UNCLEAR: "not confirmed",
}

_MOST_NAMED = 8
_MOST_SURE = 99  # no model of a lab earns more; 100 is never claimed
_ROUNDING = 1e-9  # 0.29 * 100 is 28.999999999999996
_WHOLE_FROM = 1000  # in the unit of the value: from here four digits leave no fraction
_LEAST_P = 0.001  # a smaller p-value rests on tails that a few boots do not show
# A duration is said in two or three digits: 9.9 s, 99 s, 99 min, 2.5 h.
_TENTHS_BELOW_S = 10
_SECONDS_BELOW_S = 100
_MINUTES_BELOW_S = 100 * 60


def percent(fraction: float) -> str:
    """A signed change: `-25.6%`."""
    return f"{100 * fraction:+.1f}%"


def size(fraction: float) -> str:
    """How large a change is, whichever its direction: `25.6%`."""
    return f"{100 * abs(fraction):.1f}%"


def threshold(fraction: float) -> str:
    """An unsigned share, as it was configured: `2%`, `0.5%`."""
    return f"{100 * fraction:g}%"


def sureness(probability: float) -> str:
    """A probability for a reader, rounded down to whole percent and never above 99%."""
    whole = min(_MOST_SURE, math.floor(100 * probability + _ROUNDING))
    return f"{whole}%" if whole >= 1 else "less than 1%"


def quantity(value: float) -> str:
    """A measured value without digits that no measurement supports: `464782`, `12.35`."""
    return f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"


def count(number: int, noun: str) -> str:
    """A number with its noun in the right form: `1 commit`, `4 commits`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def few(p_value: float) -> str:
    """A p-value as one reads it, without blanks at which a line might break: `p=0.012`."""
    return f"p<{_LEAST_P}" if p_value < _LEAST_P else f"p={p_value:.2g}"


def sentence(text: str) -> str:
    """A clause as a sentence of its own: a capital first, a full stop last."""
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) or not whole else f"{whole}."


def applied_fix(fix: AppliedFix) -> str:
    """What became of a commit that a search carried along."""
    summary = f"{fix.fix} was applied to {count(fix.applied, 'revision')} of those that were built"
    if not fix.left_out:
        return f"{summary}; the others have it."
    shown = ", ".join(fix.left_out[:_MOST_NAMED])
    more = f" and {len(fix.left_out) - _MOST_NAMED} more" if len(fix.left_out) > _MOST_NAMED else ""
    return f"{summary}; it does not fit {shown}{more}, which were built without it."


def named(revision: Revision) -> str:
    """A revision in running text: `r311849 (a1b2c3d4e5)`."""
    return f"{revision.label} ({revision.sha[:SUBJECT_SHA_LENGTH]})"


def span(revisions: Sequence[Revision]) -> str:
    """The first and the last of some revisions, or the only one."""
    first, last = revisions[0].label, revisions[-1].label
    return first if first == last else f"{first} to {last}"


def tag(branch: str) -> str:
    """What all subjects begin with: `[bench] `, or `[bench] stable/14: ` of one of several."""
    return f"[bench] {branch}: " if branch else "[bench] "


def subject_line(
    kind: ReportKind,
    headline: StepReport | None,
    slopes: Sequence[SlopeReport],
    between: RevisionRange,
    setting: Setting,
) -> str:
    """The mail's subject, `[bench] r311849 (a1b2c3d4e5): forwarding -25.6% on apu2 [99% sure]`."""
    begins = tag(setting.branch)
    if headline is None and kind is ReportKind.SLOPE:
        whole = slopes[0].whole
        return (
            f"{begins}{whole.old.label} to {whole.new.label}: {setting.workload} "
            f"{percent(whole.effect)} on {setting.testbed}, little by little [slope]"
        )
    if headline is None:
        outcome = "no change" if kind is ReportKind.NOT_REPRODUCED else "no culprit yet"
        return (
            f"{begins}{between.old.label} to {between.new.label}: {setting.workload} "
            f"on {setting.testbed}, {outcome} [{kind.value.replace('-', ' ')}]"
        )
    suspects = headline.suspects
    only = len(suspects) == 1
    where = named(suspects[0]) if only else f"{span(suspects)} (one of {len(suspects)})"
    return (
        f"{begins}{where}: {setting.workload} {percent(headline.effect)} "
        f"on {setting.testbed} [{sureness(headline.probability)} sure]"
    )


def failed_subject(report: Report) -> str:
    """The subject of the mail to whom a farm belongs, about a search that came to no end."""
    setting = report.setting
    return (
        f"{tag(setting.branch)}search {setting.search_id} failed: "
        f"{setting.workload} on {setting.testbed}, {report.old.label} to {report.new.label}"
    )


def expected(step: StepReport) -> str:
    """The sentence on a step that is known; empty where nobody expected it."""
    return f"It is known: {step.expected_by} marked it as expected." if step.expected_by else ""


def digest_subject(reports: Sequence[Report]) -> str:
    """The subject of a digest: how many improvements, and the first; or that all are undecided."""
    found = [report for report in reports if report.headline is not None]
    if not found:
        return f"[bench] {count(len(reports), 'improvement')}: no culprit yet"
    first = found[0].subject.removeprefix(tag(""))
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"[bench] {count(len(found), 'improvement')}: {first}{more}"


def what_changed(step: StepReport, setting: Setting) -> str:
    """The first sentence of a culprit: what, by how much, where and since which commit."""
    verb = "fell" if step.effect < 0 else "rose"
    return (
        f"{_subject_matter(setting)}{_direction(setting)} {verb} by {size(step.effect)} "
        f"(95% interval {percent(step.low)} to {percent(step.high)})"
        f"{_levels(step.levels, setting)}, {_since(step.suspects)}."
    )


def what_sloped(slope: SlopeReport, setting: Setting) -> str:
    """The first sentence of a slope: what, by how much, where, over how many commits."""
    whole = slope.whole
    verb = "fell" if whole.effect < 0 else "rose"
    return (
        f"{_subject_matter(setting)}{_direction(setting)} {verb} by {size(whole.effect)} "
        f"(95% interval {percent(whole.low)} to {percent(whole.high)}) "
        f"over {count(whole.commits, 'commit')}, "
        f"{whole.old.label} to {whole.new.label}, and none of them changed "
        f"{size(setting.min_effect)} by itself."
    )


def how_sure(step: StepReport, between: RevisionRange) -> str:
    """The second sentence of a culprit: how sure the search is, and out of which range."""
    whom = "this commit" if len(step.suspects) == 1 else f"one of these {len(step.suspects)}"
    return (
        f"The search of {between.old.label} to {between.new.label} "
        f"({count(between.n, 'commit')}) is {sureness(step.probability)} sure "
        f"that the change came with {whom}."
    )


def next_candidate(candidate: Candidate) -> str:
    """The sentence after those two: where else to look."""
    where = (
        named(candidate.first)
        if candidate.commits == 1
        else f"{span((candidate.first, candidate.last))} ({count(candidate.commits, 'commit')})"
    )
    return f"The next candidate is {where}, with {sureness(candidate.probability)}."


def disclaimer(checks: Sequence[Check]) -> str:
    """What a reader should doubt; empty when every check was made and passed."""
    doubts = [
        f"{check.name} ({check.outcome.value})"
        for check in checks
        if check.outcome is not Outcome.PASSED
    ]
    return f"Not all is proven: {', '.join(doubts)}; see the checks." if doubts else ""


def opening(report: Report) -> str:
    """The two sentences, and the next candidates if there are any."""
    return " ".join([*report.summary, *map(next_candidate, report.candidates)])


def extent(row: ScopeRow) -> str:
    """How much a workload on a testbed changed: `-12.0% +/- 0.5%`, nothing if nobody measured."""
    if row.effect is None or row.error is None:
        return ""
    return f"{percent(row.effect)} +/- {size(row.error)}"


def reach(row: ScopeRow) -> str:
    """The word for a row of the scope."""
    if row.reported:
        return "this report"
    said = None if row.standing is None else _STANDINGS[row.standing]
    return f"{row.reach.value}, {said}" if said else row.reach.value


def where(row: ScopeRow) -> str:
    """Between which revisions a row of the scope was measured."""
    far = f" ({count(row.commits, 'commit')})" if row.commits > 1 else ""
    return f"{row.old} to {row.new}{far}" if row.old else ""


def cost(spent: Cost, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """What a search took, as a sentence."""
    boots = count(spent.boots, item.iteration) + (
        f" ({spent.failed} failed)" if spent.failed else ""
    )
    lab = f"{boots} took {duration(spent.lab_s)} of the {item.place}"
    if not spent.images:
        return f"{lab}."
    return f"{lab}, {count(spent.images, 'image')} {duration(spent.build_s)} to build."


def duration(duration_s: float) -> str:
    """A duration as a person says it: `3.2 s`, `41 s`, `12 min`, `2.5 h`."""
    if duration_s < _TENTHS_BELOW_S:
        return f"{duration_s:.1f} s"
    if duration_s < _SECONDS_BELOW_S:
        return f"{duration_s:.0f} s"
    if duration_s < _MINUTES_BELOW_S:
        return f"{duration_s / 60:.0f} min"
    return f"{duration_s / 3600:.1f} h"


def nothing_found(between: RevisionRange, setting: Setting) -> str:
    """The first sentence when the ends do not differ."""
    return (
        f"{_subject_matter(setting)} does not differ between {named(between.old)} and "
        f"{named(between.new)} by {threshold(setting.min_effect)} or more."
    )


def no_answer(between: RevisionRange, setting: Setting) -> str:
    """The first sentence when no step is sure enough."""
    return (
        f"{_subject_matter(setting)} may have changed between {named(between.old)} and "
        f"{named(between.new)}, but no commit can be named with "
        f"{sureness(1 - setting.error)} certainty."
    )


def _subject_matter(setting: Setting) -> str:
    of_branch = f" ({setting.branch})" if setting.branch else ""
    return f"The {setting.metric.name} of {setting.workload} on {setting.testbed}{of_branch}"


def _direction(setting: Setting) -> str:
    return "" if setting.metric.higher_is_better else " (where lower is better)"


def _levels(levels: Levels | None, setting: Setting) -> str:
    if levels is None:
        return ""
    return f", from {quantity(levels.old)} to {quantity(levels.new)} {setting.metric.unit}"


def _since(suspects: Sequence[Revision]) -> str:
    if len(suspects) == 1:
        return f"since {named(suspects[0])}"
    return (
        f"since one of {len(suspects)} commits from {span(suspects)}, "
        "which untestable revisions keep from being told apart"
    )
