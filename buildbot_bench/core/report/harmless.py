"""Rids what enters a report of the text that strangers wrote into it; knows what is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.legible import long_line, one_line
from buildbot_bench.core.report.model import ProbeRecord, Setting
from buildbot_bench.core.report.support import Check
from buildbot_bench.core.revision import Revision, RevisionRange

_NAME_COLUMNS = 40


def harmless_range(between: RevisionRange) -> RevisionRange:
    """The same revisions with harmless subjects and authors."""
    return RevisionRange(revisions=tuple(_revision(one) for one in between.revisions))


def harmless_setting(setting: Setting) -> Setting:
    """The same setting with harmless names."""
    return replace(
        setting,
        testbed=one_line(setting.testbed, columns=_NAME_COLUMNS),
        workload=one_line(setting.workload, columns=_NAME_COLUMNS),
        farm=one_line(setting.farm, columns=_NAME_COLUMNS),
        url=None if setting.url is None else long_line(setting.url),
        operator=one_line(setting.operator),
    )


def harmless_probe(probe: ProbeRecord) -> ProbeRecord:
    """The same record with harmless reasons, which may stem from a console's last words."""
    return replace(
        probe,
        label=one_line(probe.label, columns=_NAME_COLUMNS),
        failure=None if probe.failure is None else one_line(probe.failure),
        note=one_line(probe.note),
    )


def harmless_check(check: Check) -> Check:
    """The same check; the labels in its words are images' own."""
    return replace(check, detail=long_line(check.detail))


def harmless_reason(reason: str) -> str:
    """Why an answer is what it is; of a search that failed, the lab's own words with a path."""
    return long_line(reason)


def harmless_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Each line harmless, and long enough to be copied whole."""
    return tuple(long_line(line) for line in lines)


def _revision(revision: Revision) -> Revision:
    return replace(revision, subject=one_line(revision.subject), author=one_line(revision.author))
