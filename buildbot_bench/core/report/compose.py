"""The composition of a finished search's report, in which no text from strangers does harm."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from buildbot_bench.core.legible import (
    LINE_COLUMNS,
    MESSAGE_COLUMNS,
    long_line,
    one_line,
    several_lines,
)
from buildbot_bench.core.links import Links
from buildbot_bench.core.report import words
from buildbot_bench.core.report.attach_evidence import attach_evidence
from buildbot_bench.core.report.context import NO_CONTEXT, Context
from buildbot_bench.core.report.evidence_model import (
    SlopeReport,
    describe_odd_images,
    describe_slopes,
)
from buildbot_bench.core.report.model import (
    Contrast,
    ProbeRecord,
    Report,
    ReportKind,
    Setting,
    Skipped,
    StepReport,
    Unresolved,
)
from buildbot_bench.core.report.side_levels import measured_values
from buildbot_bench.core.report.steps import (
    contrast_ends,
    describe_steps,
    find_headline,
    kind_of,
    positions_in,
    with_expected,
)
from buildbot_bench.core.revision import Revision, RevisionRange
from buildbot_bench.core.sample import Sample
from buildbot_bench.core.search import Answer


def compose(
    *,
    range: RevisionRange,  # noqa: A002 - the glossary's word; nothing is counted here
    answer: Answer,
    samples: Sequence[Sample],
    setting: Setting,
    probes: Sequence[ProbeRecord] = (),
    untestable: Mapping[int, str] | None = None,
    no_ops: Collection[int] = (),
    reproduce: Sequence[str] = (),
    known: Context = NO_CONTEXT,
) -> Report:
    """Compose the report of a finished search.

    The positions of `samples` are indices 0..n into the range, as those of the answer are.
    `untestable` maps such positions to the reason; `no_ops` are those whose kernel is identical
    to the one before. `reproduce` are commands; without any, those of `bench-bisect` are given.
    `known` is what the checks, the scope and the setup are made of.
    """
    between, setting = harmless(range), harmless(setting)
    no_op = f"no-op change: its {setting.item.built} is identical to its predecessor's"
    skipped = _not_tried(answer) | dict.fromkeys(no_ops, no_op)
    skipped |= untestable or {}
    report = _finding(between, answer, samples, setting, no_ops, known=known)
    report = replace(
        report,
        skipped=_skipped(between, skipped),
        reproduce=harmless_lines(reproduce) or report.reproduce,
        probes=tuple(harmless(probe) for probe in probes),
        opinion=known.opinion and harmless(known.opinion),
        record=known.record,
        marked=harmless_lines(known.marked),
    )
    return attach_evidence(report, between=between, answer=answer, samples=samples, known=known)


def _not_tried(answer: Answer) -> dict[int, str]:
    """Why positions between the sides of the answer's steps were not tried."""
    reasons: dict[int, str] = {}
    for step in answer.steps:
        believed = "believed untestable: all that was tried around it failed"
        reasons |= dict.fromkeys(positions_in(step.believed), believed)
        reasons |= dict.fromkeys(positions_in(step.untried), "untried: it may be testable")
    return reasons


def _finding(
    between: RevisionRange,
    answer: Answer,
    samples: Sequence[Sample],
    setting: Setting,
    no_ops: Collection[int],
    *,
    known: Context,
) -> Report:
    """What the answer says, without what led to it."""
    values = measured_values(samples, setting.metric, same=no_ops)
    found = describe_steps(
        between,
        answer,
        values,
        no_ops,
        setting,
        one_layout=known.one_layout,
        stated=known.stated,
    )
    steps = with_expected(found, between, known.expected)
    headline = find_headline(steps)
    kind = kind_of(answer, error=setting.error)
    reason = long_line(answer.reason)  # of a failed search, the lab's own words with a path
    better = setting.metric.higher_is_better
    slopes = tuple(describe_slopes(between, answer, higher_is_better=better))
    ends = contrast_ends(between, values, setting)
    if headline is not None:
        summary = words.what_changed(headline, setting), words.how_sure(headline, between, setting)
        if headline.expected_by:
            what, sure = summary
            summary = what, f"{sure} {headline.expected_by} marked this change as expected."
    else:
        what = _without_culprit(kind, slopes, ends, between, setting)
        summary = what, words.sentence(reason)
    return Report(
        kind=kind,
        subject=words.subject_line(kind, headline, slopes, between, setting),
        summary=_with_fix(summary, setting),
        headline=headline,
        ends=None if headline else ends,
        steps=steps,
        unresolved=tuple(
            Unresolved(old=between.revisions[old], new=between.revisions[new], commits=new - old)
            for old, new in answer.unresolved
        ),
        skipped=(),
        reproduce=_commands(between, headline, setting),
        probes=(),
        reason=reason,
        old=between.old,
        new=between.new,
        commits=between.n,
        setting=setting,
        slopes=slopes,
        left_out=answer.left_out,
        odd_images=tuple(describe_odd_images(between, answer)),
    )


def _without_culprit(
    kind: ReportKind,
    slopes: Sequence[SlopeReport],
    ends: Contrast,
    between: RevisionRange,
    setting: Setting,
) -> str:
    match kind:
        case ReportKind.SLOPE:
            return words.what_sloped(slopes[0], setting)
        case ReportKind.NOT_REPRODUCED:
            return words.nothing_found(between, setting, ends)
        case _:
            return words.no_answer(between, setting)


def _with_fix(summary: tuple[str, str], setting: Setting) -> tuple[str, str]:
    what, sure = summary
    if setting.tunables:
        sure = f"{sure} Each boot had {setting.tunables} set."
    return what, sure if setting.carried is None else f"{sure} {words.applied_fix(setting.carried)}"


def _skipped(between: RevisionRange, reasons: Mapping[int, str]) -> tuple[Skipped, ...]:
    runs: list[list[int]] = []
    for position in sorted(reasons):
        last = runs[-1][-1] if runs else None
        if last == position - 1 and reasons[last] == reasons[position]:
            runs[-1].append(position)
        else:
            runs.append([position])
    return tuple(
        Skipped(
            first=between.revisions[run[0]],
            last=between.revisions[run[-1]],
            commits=len(run),
            reason=one_line(reasons[run[0]]),
        )
        for run in runs
    )


def _commands(
    between: RevisionRange, headline: StepReport | None, setting: Setting
) -> tuple[str, ...]:
    """Prove the step again, search the whole range again, and get every figure of this search."""
    where = ["--testbed", setting.testbed, "--workload", setting.workload]
    where += ["--with", setting.carried.fix] if setting.carried else []
    for tunable in setting.tunables.split():
        where += ["--tunable", tunable]
    pairs = [] if headline is None else [(headline.old, headline.new)]
    pairs.append((between.old, between.new))
    searches = [["bench-bisect", old.label, new.label, *where] for old, new in pairs]
    figures = ["bench-bisect", "--follow", str(setting.search_id), "--json"]
    return tuple(shlex.join(command) for command in (*dict.fromkeys(map(tuple, searches)), figures))


def harmless_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Each line harmless, and long enough to be copied whole."""
    return tuple(long_line(line) for line in lines)


_NAME_COLUMNS = 40
_COLUMNS = {
    **dict.fromkeys(("farm", "branch", "testbed", "workload", "worker", "unit"), _NAME_COLUMNS),
    **dict.fromkeys(("label", "first", "second", "since", "control"), _NAME_COLUMNS),
    **dict.fromkeys(("author", "fixed_by"), _NAME_COLUMNS),
    **dict.fromkeys(("remark", "what", "also"), 2 * _NAME_COLUMNS),
    **dict.fromkeys(("reason", "trouble", "output", "why", "url"), MESSAGE_COLUMNS),
}
_SEVERAL_LINES = {"console": 4000}  # characters of its end: the panic and its backtrace

_Any = TypeVar("_Any")


def harmless(report: _Any) -> _Any:
    """The same dataclass with each text in it, and in what it holds, made harmless by its name.

    Templates of links are bench.yml's own; a report was made so when it was composed.
    """
    return replace(
        report,  # type: ignore[type-var]
        **{
            one.name: _cleaned(one.name, getattr(report, one.name))
            for one in fields(report)  # type: ignore[arg-type]
        },
    )


def _cleaned(name: str, value: Any) -> Any:
    match value:
        case str() if name in _SEVERAL_LINES:
            return several_lines(value[-_SEVERAL_LINES[name] :])
        case Enum() | Links() | Report():
            return value
        case str():
            return one_line(value, columns=_COLUMNS.get(name, LINE_COLUMNS))
        case Revision():
            return replace(value, subject=one_line(value.subject), author=one_line(value.author))
        case tuple():
            return tuple(_cleaned(name, one) for one in value)
    return harmless(value) if is_dataclass(value) else value
