"""The sections that installed packages add to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from buildbot_bench import extensions
from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.report import AddedSection, Report

# A section is for a reader of a mail; what is longer belongs on a page of its own.
MOST_ADDED_LINES = 100


def with_sections(report: Report, failed: Callable[[str, Exception], None]) -> Report:
    """The report with the sections of `buildbot_bench.report_sections` behind those that it has.

    Of one that fails `failed` is called, while the exception is handled, with its name; the report
    goes without.
    """
    return replace(report, added=(*report.added, *_sections(report, failed)))


def _sections(report: Report, failed: Callable[[str, Exception], None]) -> Iterator[AddedSection]:
    for name, point in extensions.added(extensions.SECTIONS).items():
        try:
            section: AddedSection | None = extensions.load(point)(report)
            if section is not None:
                lines = tuple(long_line(line) for line in section.lines[:MOST_ADDED_LINES])
                yield AddedSection(title=one_line(section.title), lines=lines)
        except Exception as error:  # noqa: BLE001 - what strangers wrote must not keep a report back
            failed(name, error)
