"""One row of each bench_* table as a value; knows no SQL and takes no decision.

Field names are column names. Times are seconds since the epoch, given by the caller. `version`
counts a row's changes: a change names the row that it saw and is refused when that is no longer
the row (compare-and-swap).
"""

from buildbot_bench.plugin.db.rows.commits import (
    ArtefactRow,
    AskedRow,
    CommitRow,
    ImageRow,
    NewCommit,
    PatchRow,
)
from buildbot_bench.plugin.db.rows.measuring import (
    CaptureRow,
    IterationRow,
    MeasuredRow,
    ProbeRow,
    ProfileRow,
    QuarantineRow,
    TrialRow,
)
from buildbot_bench.plugin.db.rows.telling import ComparisonRow, ReportRow, SearchRow

__all__ = [
    "ArtefactRow",
    "AskedRow",
    "CaptureRow",
    "CommitRow",
    "ComparisonRow",
    "ImageRow",
    "IterationRow",
    "MeasuredRow",
    "NewCommit",
    "PatchRow",
    "ProbeRow",
    "ProfileRow",
    "QuarantineRow",
    "ReportRow",
    "SearchRow",
    "TrialRow",
]
