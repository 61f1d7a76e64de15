"""Letters, the contents of mails, by the templates of their kinds."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from buildbot_bench.core.compare.model import ComparisonReport
from buildbot_bench.core.compare.text import factor_lines, subject
from buildbot_bench.core.compare.text import text as comparison_text
from buildbot_bench.core.report.farm_mails import (
    BrokenWorkloadReport,
    ControlRun,
    HangReport,
    QuarantineReport,
    SilenceReport,
    WeeklyReport,
)
from buildbot_bench.core.report.harmless import harmless
from buildbot_bench.core.report.incident_mails import BreakageReport, RecoveryReport
from buildbot_bench.core.report.model import Report, Setting
from buildbot_bench.core.report.words import count, percent, quantity, tag
from buildbot_bench.core.revision import Revision
from buildbot_bench.render.environment import rendered
from buildbot_bench.render.html import comparison_html, report_html
from buildbot_bench.render.layout import moment, wrap
from buildbot_bench.render.mime import Letter, Picture
from buildbot_bench.render.text import report_text


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
