"""Rids what enters a report of the text that strangers wrote into it; knows what is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from buildbot_bench.core.report.model import ProbeRecord, Setting
from buildbot_bench.core.report.plain import plain
from buildbot_bench.core.report.support import Check
from buildbot_bench.core.revision import Revision, RevisionRange

_NAME_COLUMNS = 40
_LONG_COLUMNS = 400  # what a person must be able to copy whole: a command, an address, a reason


def harmless_range(between: RevisionRange) -> RevisionRange:
    """The same revisions with harmless subjects and authors."""
    return RevisionRange(revisions=tuple(_revision(one) for one in between.revisions))


def harmless_setting(setting: Setting) -> Setting:
    """The same setting with harmless names."""
    return replace(
        setting,
        testbed=plain(setting.testbed, columns=_NAME_COLUMNS),
        workload=plain(setting.workload, columns=_NAME_COLUMNS),
        farm=plain(setting.farm, columns=_NAME_COLUMNS),
        url=None if setting.url is None else plain(setting.url, columns=_LONG_COLUMNS),
        operator=plain(setting.operator),
    )


def harmless_probe(probe: ProbeRecord) -> ProbeRecord:
    """The same record with harmless reasons, which may stem from a console's last words."""
    return replace(
        probe,
        label=plain(probe.label, columns=_NAME_COLUMNS),
        failure=None if probe.failure is None else plain(probe.failure),
        note=plain(probe.note),
    )


def harmless_check(check: Check) -> Check:
    """The same check; the labels in its words are images' own."""
    return replace(check, detail=plain(check.detail, columns=_LONG_COLUMNS))


def harmless_reason(reason: str) -> str:
    """Why an answer is what it is; of a search that failed, the lab's own words with a path."""
    return plain(reason, columns=_LONG_COLUMNS)


def harmless_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Each line harmless, and long enough to be copied whole."""
    return tuple(plain(line, columns=_LONG_COLUMNS) for line in lines)


def _revision(revision: Revision) -> Revision:
    return replace(revision, subject=plain(revision.subject), author=plain(revision.author))
