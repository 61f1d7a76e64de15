"""Subjects, sentences and figures of a finding, in words."""

from collections.abc import Collection, Sequence
from statistics import fmean

from buildbot_bench.core.figures import (
    count,
    duration,
    few,
    fine_percent,
    listed,
    percent,
    quantity,
    size,
    sureness,
    threshold,
    unit_in_words,
    whole_percent,
)
from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.item import ItemUnderTest
from buildbot_bench.core.legible import shorten
from buildbot_bench.core.report.evidence_model import (
    Candidate,
    Check,
    Cost,
    Outcome,
    ScopeRow,
    SlopeReport,
)
from buildbot_bench.core.report.model import (
    AppliedFix,
    Contrast,
    Levels,
    Report,
    ReportKind,
    Setting,
    StepReport,
)
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET

__all__ = ["count", "duration", "few", "percent", "quantity", "size", "sureness", "threshold"]

SUBJECT_SHA_LENGTH = 10
_SUBJECT_COLUMNS = 72  # of a commit's subject in a sentence

_STANDINGS = {
    Standing.WAITING: "being confirmed",
    Standing.CONFIRMED: "confirmed",
    Standing.DENIED: "denied",
    Standing.UNCLEAR: "not confirmed",
}

_MOST_NAMED = 8


def standing(step: StepReport, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """How sure a step beside the headline is. What is not proved like the headline is suspected."""
    likely = sureness(step.probability)
    words = [f"{likely} sure" if step.sure and step.proved else f"suspected, {likely} likely"]
    if not step.proved:
        words.append(f"not proved by {item.iteration}s of both sides")
    if not step.separated:
        words.append("not separated from layout")
    if step.race is not None:
        words.append(
            f"{size(step.race.depth)} in {whole_percent(step.race.after)} of the {item.iteration}s"
        )
    if step.expected_by:
        words.append(f"marked as expected by {step.expected_by}")
    return ", ".join(words)


def sentence(text: str) -> str:
    """A clause as a sentence of its own: a capital first, a full stop last."""
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) or not whole else f"{whole}."


def applied_fix(fix: AppliedFix) -> str:
    """What became of a commit that a search carried along."""
    summary = f"The search applied {fix.fix} to {count(fix.applied, 'revision')}"
    if not fix.left_out:
        return f"{summary}. The others contain it."
    shown = ", ".join(fix.left_out[:_MOST_NAMED])
    more = f" and {len(fix.left_out) - _MOST_NAMED} more" if len(fix.left_out) > _MOST_NAMED else ""
    return f"{summary}. It does not apply to {shown}{more}: these were built without it."


def named(revision: Revision) -> str:
    """A revision in running text: `r311849 (a1b2c3d4e5)`, or its hash alone."""
    return revision.name or f"{revision.label} ({revision.sha[:SUBJECT_SHA_LENGTH]})"


def spoken_of(revision: Revision, setting: Setting) -> str:
    """A revision in the first sentences: its label; without a farm what git knows it by."""
    return revision.label if setting.farm else revision.sha[:SUBJECT_SHA_LENGTH]


def _introduced(revision: Revision, setting: Setting) -> str:
    """The culprit in the first sentence; without a farm its hash and its subject."""
    told = spoken_of(revision, setting)
    subject = "" if setting.farm else shorten(revision.subject, _SUBJECT_COLUMNS)
    return f'{told} "{subject}"' if subject else told


def _end(revision: Revision, setting: Setting) -> str:
    return named(revision) if setting.farm else _introduced(revision, setting)


def _spoken_span(revisions: Sequence[Revision], setting: Setting) -> str:
    first, last = (spoken_of(one, setting) for one in (revisions[0], revisions[-1]))
    return first if first == last else f"{first} to {last}"


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
    """The subject, `[bench] r311849 (a1b2c3d4e5): forwarding -25.6 % on apu2 [99 % sure]`."""
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
    """The subject of the mail to the operator about a search that failed."""
    setting = report.setting
    return (
        f"{tag(setting.branch)}search {setting.search_id} failed: "
        f"{setting.workload} on {setting.testbed}, {report.old.label} to {report.new.label}"
    )


def what_changed(step: StepReport, setting: Setting) -> str:
    """The first sentences of a culprit: who changed what, where, by how much, from what to what."""
    suspects = step.suspects
    if len(suspects) == 1:
        who, apart = _introduced(suspects[0], setting), ""
    else:
        one = "one" if setting.branch else "One"
        who = f"{one} of {len(suspects)} commits, {_spoken_span(suspects, setting)},"
        apart = f" {_between(step, setting)}"
    text = f"{_on_branch(setting)}{who} {_changed(step.effect, step.levels, setting)}"
    return (
        f"{text}. The 95 % interval is {percent(step.low)} to {percent(step.high)}."
        f"{_direction(setting)}{_raced(step, setting)}{apart}"
    )


def _raced(step: StepReport, setting: Setting) -> str:
    """The sentence on a step that some boots show and others do not; empty where all show it."""
    if step.race is None:
        return ""
    off = "lower" if step.race.depth < 0 else "higher"
    if setting.metric.is_rate_of_packets:
        off = "slower" if step.race.depth < 0 else "faster"
    return (
        f" It is a race: {whole_percent(step.race.after)} of the {setting.item.iteration}s are "
        f"{size(step.race.depth)} {off} since then, {whole_percent(step.race.before)} before."
    )


def _between(step: StepReport, setting: Setting) -> str:
    """The sentence on the revisions between the sides of a step: tried, believed, untried."""
    if not step.believed and not step.untried:
        return "The revisions between them cannot be tested."
    rest = []
    if step.believed:
        sure = sureness(1 - setting.error)
        rest.append(
            f"{count(step.believed, 'revision')} not tried, but believed untestable ({sure} sure)"
        )
    if step.untried:
        rest.append(f"{count(step.untried, 'revision')} not tried, and may be testable")
    return f"Those between them that were tried cannot be tested; {'; '.join(rest)}."


def what_sloped(slope: SlopeReport, setting: Setting) -> str:
    """The first sentences of a slope: what, by how much, where, over how many commits."""
    whole = slope.whole
    text = (
        f"{_on_branch(setting)}{count(whole.commits, 'commit')} together, "
        f"{_spoken_span((whole.old, whole.new), setting)}, {_changed(whole.effect, None, setting)}"
    )
    return (
        f"{text}. The 95 % interval is {percent(whole.low)} to {percent(whole.high)}."
        f"{_direction(setting)} No single commit changed it by "
        f"{threshold(setting.min_effect)} or more."
    )


def how_sure(step: StepReport, between: RevisionRange, setting: Setting) -> str:
    """How sure the search is of a culprit, and out of which range."""
    whom = "this commit" if len(step.suspects) == 1 else f"one of these {len(step.suspects)}"
    return (
        f"The search of {_spoken_span((between.old, between.new), setting)} "
        f"({count(between.n, 'commit')}) is {sureness(step.probability)} sure "
        f"that {whom} made the change."
    )


def next_candidate(candidate: Candidate) -> str:
    """The sentence after those: where else to look."""
    where = (
        named(candidate.first)
        if candidate.commits == 1
        else f"{span((candidate.first, candidate.last))} ({count(candidate.commits, 'commit')})"
    )
    return f"The next candidate is {where}, with {sureness(candidate.probability)}."


def disclaimer(checks: Sequence[Check], impossible: Collection[str] = ()) -> str:
    """What a reader should doubt; empty when every check passed, or was `impossible` to make."""
    doubts = [
        f"{check.name} ({check.outcome.value})"
        for check in checks
        if check.outcome is Outcome.FAILED
        or (check.outcome is Outcome.NOT_MADE and check.name not in impossible)
    ]
    if not doubts:
        return ""
    return f"{len(doubts)} of {count(len(checks), 'check')} did not pass: {', '.join(doubts)}."


def opening(report: Report) -> str:
    """The summary, the next candidates if there are any, other testbeds, and the other clock."""
    more = filter(None, (report.second_opinion, report.clocks))
    return " ".join([*report.summary, *map(next_candidate, report.candidates), *more])


def extent(row: ScopeRow) -> str:
    """How much a workload on a testbed changed: `-12.0 % +/- 0.5 %`, empty if not measured."""
    if row.effect is None or row.error is None:
        return ""
    return f"{percent(row.effect)} +/- {size(row.error)}"


def reach(row: ScopeRow) -> str:
    """The word for a row of the scope."""
    if row.reported:
        return "this report"
    said = None if row.standing is None else _STANDINGS[row.standing]
    return f"{row.reach.value}, {said}" if said else row.reach.value


def second_opinion(rows: Sequence[ScopeRow]) -> str:
    """The sentence on other testbeds that were asked of the reported workload; may be empty."""
    here = next((row for row in rows if row.reported), None)
    asked = [
        row
        for row in rows
        if here and row.workload == here.workload and row is not here and row.standing
    ]
    if here is None or not asked:
        return ""
    shown = [here.testbed, *(row.testbed for row in asked if row.standing is Standing.CONFIRMED)]
    if len(shown) > len(asked):
        number = "both" if len(asked) == 1 else f"all {len(shown)}"
        on = f"on {number} testbeds"
    elif len(shown) > 1:
        on = f"on {listed(shown)}"
    elif all(row.standing is Standing.DENIED for row in asked):
        on = f"only on {here.testbed}"
    else:
        on = f"seen on {here.testbed} alone so far"
    return f"The change is {on}: {', '.join(map(_answer_of, asked))}."


def _answer_of(row: ScopeRow) -> str:
    """What another testbed says of a step."""
    match row.standing:
        case Standing.WAITING:
            return f"{row.testbed} has not answered yet"
        case Standing.UNCLEAR:
            return f"{row.testbed} does not tell"
        case _:
            return f"{row.testbed} has {extent(row) or 'no such change'}"


def where(row: ScopeRow) -> str:
    """Between which revisions a row of the scope was measured."""
    far = f" ({count(row.commits, 'commit')})" if row.commits > 1 else ""
    return f"{row.old} to {row.new}{far}" if row.old else ""


def cost(spent: Cost, item: ItemUnderTest = ItemUnderTest.KERNEL) -> str:
    """What a search took, as a sentence or two."""
    failed = f" ({spent.failed} failed)" if spent.failed else ""
    boots = f"{count(spent.boots, item.iteration)}{failed}"
    lab = f"{boots} took {duration(spent.lab_s)} of {item.place} time."
    if not spent.images:
        return lab
    return f"{lab} {count(spent.images, 'build')} took {duration(spent.build_s)}."


def nothing_found(between: RevisionRange, setting: Setting, ends: Contrast) -> str:
    """The first sentences when the ends do not differ: by how much not, and what was measured."""
    return (
        f"{_end(between.old, setting)} and {_end(between.new, setting)} do not differ by "
        f"{threshold(setting.min_effect)} or more in the {_subject_matter(setting)}."
        f"{_measured_difference(ends)}"
    )


def _measured_difference(ends: Contrast) -> str:
    """The difference of two sides and its interval; empty where a side has no value."""
    old, new, found = ends.old.values, ends.new.values, ends.comparison
    if found is not None and found.relative is not None:
        shift, low, high = map(fine_percent, found.relative)
        interval = f"with a {found.confidence:g} % interval of {low} to {high}"
        return f" The measured difference is {shift}, {interval}."
    if not old or not new or not fmean(old):
        return ""
    return f" The measured difference is {fine_percent(fmean(new) / fmean(old) - 1)}."


def no_answer(between: RevisionRange, setting: Setting) -> str:
    """The first sentences when no step is sure enough."""
    return (
        f"The {_subject_matter(setting)} may have changed between {_end(between.old, setting)} "
        f"and {_end(between.new, setting)}. No commit is the culprit with "
        f"{sureness(1 - setting.error)} certainty."
    )


def _subject_matter(setting: Setting) -> str:
    of_branch = f" ({setting.branch})" if setting.branch else ""
    return f"{setting.metric.name} of {setting.workload} on {setting.testbed}{of_branch}"


def _on_branch(setting: Setting) -> str:
    return f"On branch {setting.branch}, " if setting.branch else ""


def _changed(effect: float, levels: Levels | None, setting: Setting) -> str:
    """`made forwarding on apu2 27.3 % slower (350,076 → 254,373 packets per CPU-second)`."""
    where = f"{setting.workload} on {setting.testbed}"
    metric = setting.metric
    if metric.is_rate_of_packets:
        what = f"made {where} {size(effect)} {'slower' if effect < 0 else 'faster'}"
    elif metric.unit == INSTRUCTIONS_PER_PACKET.unit:
        more = "fewer" if effect < 0 else "more"
        what = f"made {where} execute {size(effect)} {more} instructions per packet"
        return f"{what}{_levels(levels)}"
    else:
        verb = "lowered" if effect < 0 else "raised"
        what = f"{verb} the {metric.name} of {where} by {size(effect)}"
    return f"{what}{_levels(levels, metric.unit)}"


def _levels(levels: Levels | None, unit: str = "") -> str:
    if levels is None:
        return ""
    figures = f"{quantity(levels.old)} → {quantity(levels.new)}"
    return f" ({figures} {unit_in_words(unit)})" if unit else f" ({figures})"


def _direction(setting: Setting) -> str:
    metric = setting.metric
    if metric.higher_is_better or metric.unit == INSTRUCTIONS_PER_PACKET.unit:
        return ""
    return " Lower is better."
