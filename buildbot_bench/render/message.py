"""A report as plain text of 80 columns, and letters, by the templates of their kinds."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from buildbot_bench import installed
from buildbot_bench.core.compare.model import ComparisonReport
from buildbot_bench.core.compare.text import factor_lines, subject
from buildbot_bench.core.compare.text import text as comparison_text
from buildbot_bench.core.legible import display_width, long_line, one_line, shorten
from buildbot_bench.core.report.compose import harmless
from buildbot_bench.core.report.evidence_model import Fact, ScopeRow
from buildbot_bench.core.report.farm_mails import (
    BrokenWorkloadReport,
    ControlRun,
    HangReport,
    QuarantineReport,
    SilenceReport,
    WeeklyReport,
)
from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.core.report.model import AddedSection, ProbeRecord, Report, Setting
from buildbot_bench.core.report.why import FunctionCost, PerPacket, Sum, Why
from buildbot_bench.core.report.why_words import (
    cost_change,
    cost_figure,
    function_place,
    points,
    share,
)
from buildbot_bench.core.report.words import (
    count,
    duration,
    extent,
    percent,
    quantity,
    reach,
    tag,
    where,
)
from buildbot_bench.core.revision import Revision
from buildbot_bench.render.environment import rendered
from buildbot_bench.render.html import comparison_html, report_html
from buildbot_bench.render.layout import WIDTH, columns, moment, wrap
from buildbot_bench.render.mime import Letter, Picture


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestReport:
    """Improvements of one farm in the order in which they were found; at least one."""

    reports: tuple[Report, ...]

    @property
    def subject(self) -> str:
        """How many improvements, and the first; or that all are undecided."""
        found = [report for report in self.reports if report.headline is not None]
        if not found:
            return f"[bench] {count(len(self.reports), 'improvement')}: no culprit yet"
        first = found[0].subject.removeprefix(tag(""))
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return f"[bench] {count(len(found), 'improvement')}: {first}{more}"


Notice = (
    QuarantineReport
    | WeeklyReport
    | SilenceReport
    | HangReport
    | BrokenWorkloadReport
    | BreakageReport
    | RecoveryReport
    | DigestReport
)

_TEMPLATES: dict[type[Notice], str] = {
    QuarantineReport: "quarantine",
    WeeklyReport: "week",
    SilenceReport: "silence",
    HangReport: "hang",
    BrokenWorkloadReport: "workload",
    BreakageReport: "breakage",
    RecoveryReport: "recovery",
    DigestReport: "digest",
}
_HEAD = "  ended (UTC)           off by  average  {}s"


def report_letter(report: Report, pictures: Sequence[Picture] = ()) -> Letter:
    """A search's report: what a reader needs first, HTML with all, and all as a file of text."""
    step = report.headline
    return Letter(
        subject=report.subject,
        text=report_text(report, whole=False),
        html=report_html(report, pictures),
        pictures=pictures,
        attached=report_text(report),
        thread=_thread(report.setting, step.suspects if step else (report.old, report.new)),
    )


def comparison_letter(report: ComparisonReport, *, page: str) -> Letter:
    """A comparison: what its factors do, then all of it; `page` is its address."""
    html, pictures = comparison_html(report)
    told = [wrap(line, first="* ", rest="  ") for line in factor_lines(report)]
    parts = ["\n".join(told), f"Each boot: {page}", comparison_text(report)]
    text = "\n\n".join(filter(None, parts))
    return Letter(subject=subject(report), text=text, html=html, pictures=pictures)


def notice_letter(notice: Notice, pictures: Sequence[Picture] = ()) -> Letter:
    """All other mails, without what strangers may have written into them."""
    notice = harmless(notice)
    return Letter(
        subject=notice.subject,
        text=notice_text(notice),
        html=notice_html(notice, pictures),
        pictures=pictures,
        thread=_thread(notice, notice.suspects) if isinstance(notice, BreakageReport) else "",
    )


def _thread(place: Setting | BreakageReport, commits: Iterable[Revision]) -> str:
    """An incident: commits on a testbed and workload, no matter which search found them."""
    named = [place.testbed, place.workload, *(one.sha for one in commits)]
    return hashlib.sha256("\0".join(named).encode()).hexdigest()[:32]


def notice_text(notice: Notice) -> str:
    """The mail as text of 80 columns, but for addresses, that ends in a newline."""
    return _rendered(f"{_TEMPLATES[type(notice)]}.txt", notice)


def notice_html(notice: Notice, pictures: Sequence[Picture] = ()) -> str:
    """The same as one HTML document that loads nothing but the mail's own pictures."""
    return _rendered(f"{_TEMPLATES[type(notice)]}.html", notice, pictures=pictures)


def breakage_fragment(report: BreakageReport) -> dict[str, str]:
    """A breakage as a part of a page, as `report_fragment` is one of a report."""
    return {
        part: _rendered(f"breakage_{part}.html", report, page=True) for part in ("card", "sections")
    }


def _rendered(template: str, notice: Notice, **others: Any) -> str:
    # The macros that a breakage shares with a search's report read the links from `setting`.
    known = {"report": notice, "setting": notice, "page": False, "run_table": run_table}
    return rendered(template, **known | others)


def run_table(runs: Sequence[ControlRun], iteration: str = "boot") -> str:
    """The rounds as aligned columns, the remark of one that was not good on a line of its own."""
    lines = [_HEAD.format(iteration)]
    for run in runs:
        off = "-" if run.deviation is None else percent(run.deviation)
        begin = f"  {moment(run.at_s)}  {off:>7}  {percent(run.average):>7}  "
        lines.append(wrap(" ".join(map(quantity, run.values)), first=begin))
        if run.remark:
            lines.append(wrap(run.remark, first=" " * 23 + "^ "))
    return "\n".join(line.rstrip() for line in lines)


_LABEL_COLUMNS = 16
_WORDS_COLUMNS = 14  # of what is said behind a row's figures, at least
# Of a letter's table: one of a culprit has 60 lines, but for the values of a suite that it slowed.
_ROWS, _ROWS_OF_VALUES = 9, 40


def report_text(report: Report, *, whole: bool = True) -> str:
    """The whole report, or what a mail says of it, as text that ends in a newline.

    No line is wider than 78 columns, commands and addresses excepted: those must be copied whole.
    """
    return rendered(
        "report.txt",
        report=report,
        whole=whole,
        rows=_ROWS_OF_VALUES if any(map(_is_value, report.scope)) else _ROWS,
        setting=report.setting,
        probe_table=probe_table,
        scope_table=scope_table,
        setup_table=setup_table,
        symbol_table=symbol_table,
        cost_table=cost_table,
    )


def probe_table(probes: Sequence[ProbeRecord], unit: str, image: str = "image") -> str:
    """The log of probes as aligned columns; a failure or a note stands on lines of its own.

    `image` is what one of several builds is called. The last column is there where it is known.
    """
    rows = [("probe", "revision", image, unit, "ended (UTC)", "took", "left")]
    rows += [
        (
            str(probe.serial),
            shorten(probe.label, _LABEL_COLUMNS),
            str(probe.image),
            "-" if probe.value is None else quantity(probe.value),
            moment(probe.at_s),
            duration(probe.duration_s),
            "" if probe.left is None else f"{probe.left:,}",
        )
        for probe in probes
    ]
    known = 7 if any(probe.left is not None for probe in probes) else 6
    head, *told = columns([row[:known] for row in rows], "rlrrrrr"[:known])
    indent = " " * (max(len(row[0]) for row in rows) + 4)
    lines = [f"  {head}".rstrip()]
    for probe, line in zip(probes, told, strict=True):
        lines.append(f"  {line}".rstrip())
        lines += [wrap(said, first=indent) for said in (probe.failure, probe.note) if said]
    return "\n".join(lines)


def scope_table(rows: Sequence[ScopeRow]) -> str:
    """Every testbed and workload with its change, as aligned columns."""
    cells = [(shorten(row.testbed, _LABEL_COLUMNS), extent(row)) for row in rows]
    taken = sum(max(map(display_width, column)) + 2 for column in zip(*cells, strict=True))
    room = max(_LABEL_COLUMNS, WIDTH - taken - _WORDS_COLUMNS - 4)
    names = [
        (testbed, shorten(row.workload, room if _is_value(row) else _LABEL_COLUMNS), change)
        for row, (testbed, change) in zip(rows, cells, strict=True)
    ]
    return "\n".join(
        wrap(f"{reach(row)}{', ' if row.old else ''}{where(row)}", first=f"  {line}  ")
        for row, line in zip(rows, columns(names, "llr"), strict=True)
    )


def _is_value(row: ScopeRow) -> bool:
    return row.workload.startswith("value ")


def setup_table(facts: Sequence[Fact]) -> str:
    """The facts as two columns; one that differs has a mark and a line for each side."""
    names = list(columns([(fact.name,) for fact in facts], "l"))
    width = max(map(display_width, names))
    lines = []
    for fact, name in zip(facts, names, strict=True):
        if fact.differs:
            lines.append(wrap(fact.old, first=f"! {name}  before: "))
            lines.append(wrap(fact.new, first=f"  {' ' * width}  after:  "))
        else:
            lines.append(wrap(fact.new, first=f"  {name}  "))
    return "\n".join(lines)


_SYMBOL_COLUMNS = 34
_SIDE_COLUMNS = 10


def symbol_table(why: Why) -> str:
    """Functions with their share on both sides and how far it moved."""
    rows = [("", "", *_sides(why), "points")]
    rows += [
        (
            "!" if symbol.sure else "",
            shorten(symbol.name, _SYMBOL_COLUMNS),
            share(symbol.old),
            share(symbol.new),
            points(symbol.new - symbol.old),
        )
        for symbol in why.symbols
    ]
    return "\n".join(f"  {line}" for line in columns(rows, "llrrr"))


def cost_table(why: Why, table: PerPacket) -> str:
    """Functions with their cost per packet, places and callers, and what these costs sum to."""
    head = ("", *_sides(why), "change")
    rows = [head]
    costs: list[tuple[str, FunctionCost | Sum]] = [
        *((shorten(one.name, _SYMBOL_COLUMNS), one) for one in table.functions),
        (count(table.others.functions, "other"), table.others),
        ("total", table.total),
    ]
    for name, cost in costs:
        figures = cost_figure(cost.old), cost_figure(cost.new), cost_change(cost.new - cost.old)
        rows.append((name, *figures))
    places = ["", *map(function_place, table.functions), "", ""]
    lines = []
    for line, place in zip(columns(rows, "lrrr"), places, strict=True):
        lines.append(f"  {line}")
        if place:
            lines.append(f"    {shorten(place, WIDTH - 4)}")
    return "\n".join(lines)


def _sides(why: Why) -> tuple[str, ...]:
    return tuple(shorten(side.label, _SIDE_COLUMNS) if side else "" for side in (why.old, why.new))


# A section is for a reader of a mail; what is longer belongs on a page of its own.
MOST_ADDED_LINES = 100


def with_sections(report: Report, failed: Callable[[str, Exception], None]) -> Report:
    """The report with the sections of `buildbot_bench.report_sections` behind those that it has.

    `failed` is called with the name of one that fails, within its exception; it is left out.
    """
    return replace(report, added=(*report.added, *_sections(report, failed)))


def _sections(report: Report, failed: Callable[[str, Exception], None]) -> Iterator[AddedSection]:
    for name, point in installed.added(installed.SECTIONS).items():
        try:
            section: AddedSection | None = installed.load(point)(report)
            if section is not None:
                lines = tuple(long_line(line) for line in section.lines[:MOST_ADDED_LINES])
                yield AddedSection(title=one_line(section.title), lines=lines)
        except Exception as error:  # noqa: BLE001 - what strangers wrote must not keep a report back
            failed(name, error)
