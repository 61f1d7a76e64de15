"""The bench_* tables: rows of the farm itself, and of each table row, unique keys, indexes."""

from dataclasses import dataclass
from typing import Annotated

import sqlalchemy as sa

from buildbot_bench.plugin.db.ab_test_rows import AbTestImageRow, AbTestRow, AbTestVariantRow
from buildbot_bench.plugin.db.columns import METADATA, Digest, Kept, Large, Sha, table
from buildbot_bench.plugin.db.finding_rows import (
    IncidentSeriesRow,
    JudgementRow,
    MarkRow,
    NoticeRow,
    QuarantineRow,
    ReportRow,
    SearchRow,
)
from buildbot_bench.plugin.db.rows import (
    CaptureRow,
    CommitRow,
    ImageRow,
    IterationRow,
    PatchRow,
    ProbeRow,
    ProfileRow,
    ValueNamesRow,
    ValuesRow,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchRow:
    """A branch, and its trunk: the branch whose commits are its own up to `fork_position`.

    None and 0, for one that shares none with those that were watched before it.
    """

    id: int
    name: str
    trunk: str | None
    fork_position: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DroppedCommitRow:
    """A commit that a branch had before it was moved back or replaced: measured, no history."""

    id: int
    branch: str
    sha: Sha


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricRow:
    """A unit of a lab's own workload; those of this package's drivers are known by their names."""

    id: int
    testbed: str
    workload: str
    unit: str
    name: str
    higher_is_better: bool
    exact: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtefactRow:
    """The file of an image's kernel, known by its SHA-256, of `size` bytes."""

    id: int
    digest: Digest
    size: Large
    stored_at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFilesRow:
    """A list of the files that a build read, known by its SHA-256."""

    id: int
    digest: Digest
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseRow:
    """A lease, and what its holder has to tell of itself; `expires_at` by the database's clock."""

    id: int
    name: str
    token: Annotated[str, Kept(type=sa.String(36))]
    masterid: int
    expires_at: float
    trouble: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareRow:
    """The last span of virtual time that a claimant had of a worker."""

    id: int
    worker: str
    claimant: str
    start: float
    finish: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeRow:
    """A part of the number of changes of the table `name`, counted by triggers."""

    id: int
    name: Annotated[str, Kept(type=sa.String(64))]
    changes: Large


__all__ = ["METADATA"]

UNDONE = "state IN ('lost', 'cancelled')"
FAILED = "failure_kind IS NOT NULL"


def _few(name: str, *columns: str, where: str) -> sa.Index:
    """An index of those rows alone for which a condition holds."""
    condition = sa.text(where)
    return sa.Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


COMMIT = table(
    "bench_commit",
    CommitRow,
    sa.UniqueConstraint("branch", "position"),
    sa.UniqueConstraint("branch", "sha"),
    sa.Index(None, "svn"),
    sa.Index(None, "sha"),
    given=("subject", "author", "committed_at_s", "important", "arrived_at"),
)
BRANCH = table("bench_branch", BranchRow, sa.UniqueConstraint("name"))
DROPPED_COMMIT = table(
    "bench_dropped_commit", DroppedCommitRow, sa.UniqueConstraint("branch", "sha")
)
METRIC = table("bench_metric", MetricRow, sa.UniqueConstraint("testbed", "workload", "unit"))
IMAGE = table(
    "bench_image",
    ImageRow,
    sa.UniqueConstraint("repository", "variant", "ordinal"),
    sa.Index(None, "position", "version", "repository"),
    sa.Index(None, "state"),
)
ARTEFACT = table("bench_artefact", ArtefactRow, sa.UniqueConstraint("digest"))
READ_FILES = table("bench_read_files", ReadFilesRow, sa.UniqueConstraint("digest"))
PATCH = table("bench_patch", PatchRow, sa.UniqueConstraint("digest"))

AB_TEST = table(
    "bench_ab_test",
    AbTestRow,
    sa.UniqueConstraint("key"),
    sa.Index(None, "state"),
    sa.Index(None, "requester"),
    given=("state",),
    apart=("variants", "further"),
)
AB_TEST_VARIANT = table(
    "bench_ab_test_variant", AbTestVariantRow, sa.UniqueConstraint("ab_test_id", "ordinal")
)
AB_TEST_IMAGE = table(
    "bench_ab_test_image",
    AbTestImageRow,
    sa.UniqueConstraint(
        *("ab_test_id", "place", "testbed", "workload", "number"), name="bench_ab_test_image_key"
    ),
    sa.Index(None, "image_id"),
)

PROBE = table(
    "bench_probe",
    ProbeRow,
    sa.UniqueConstraint("key"),
    sa.Index(None, "token"),
    sa.Index(None, "state", "judged"),
    sa.Index(None, "search_id"),
    sa.Index(None, "image_id", "testbed", "workload"),
    sa.Index(None, "ab_test_id"),
    sa.Index(None, "testbed", "reason"),
    # Few of many: what was asked for and gave nothing.
    _few("bench_probe_undone", "state", "testbed", "workload", where=UNDONE),
    _few("bench_probe_failed", "failure_kind", "image_id", where=FAILED),
    _few("bench_probe_budget", "budget_of", "issued_at", where="budget_of IS NOT NULL"),
    given=("epoch",),
)
ITERATION = table(
    "bench_iteration",
    IterationRow,
    sa.UniqueConstraint("probe_id", "ordinal", "unit"),
    # With all that a chart of ten thousand revisions needs: the rows with their logs stay unread.
    sa.Index(
        "bench_iteration_series",
        *("testbed", "workload", "tunables", "image_id"),
        *("epoch", "unit", "is_primary", "value", "at_s", "probe_id"),
    ),
)
VALUE_NAMES = table(
    "bench_value_names", ValueNamesRow, sa.UniqueConstraint("testbed", "workload", "digest")
)
VALUES = table("bench_values", ValuesRow, sa.UniqueConstraint("iteration_id"))
QUARANTINE = table(
    "bench_quarantine",
    QuarantineRow,
    sa.UniqueConstraint("probe_id"),
    sa.Index(None, "testbed", "since_s"),
)
CAPTURE = table("bench_capture", CaptureRow, sa.UniqueConstraint("digest"))
PROFILE = table(
    "bench_profile",
    ProfileRow,
    sa.UniqueConstraint("key"),
    sa.Index(None, "state"),
    sa.Index(None, "search_id"),
    sa.Index(None, "ab_test_id"),
)

JUDGEMENT = table(
    "bench_judgement",
    JudgementRow,
    sa.UniqueConstraint("repository", "testbed", "workload", "value", "new_sha", "old_sha"),
    sa.Index(None, "state"),
    sa.Index(None, "state", "new_position"),
    sa.Index(None, "new_sha"),
    sa.Index(None, "search_id"),
    given=("rounds",),
)
SEARCH = table(
    "bench_search",
    SearchRow,
    sa.UniqueConstraint("key"),
    sa.Index(None, "state"),
    sa.Index(None, "testbed", "workload"),
    sa.Index(None, "branch", "new_position"),
)
INCIDENT_SERIES = table(
    "bench_incident_series",
    IncidentSeriesRow,
    sa.UniqueConstraint("search_id", "testbed", "workload", "value"),
    sa.Index(None, "standing"),
)
MARK = table(
    "bench_mark",
    MarkRow,
    sa.Index(None, "search_id"),
    sa.Index(None, "judgement_id"),
    sa.Index(None, "pending"),
)
REPORT = table(
    "bench_report",
    ReportRow,
    sa.UniqueConstraint("search_id"),
    sa.UniqueConstraint("key"),
    sa.Index(None, "state", "next_try_at"),
)
NOTICE = table(
    "bench_notice",
    NoticeRow,
    sa.UniqueConstraint("search_id", "kind", "target"),
    sa.Index(None, "state", "next_try_at"),
)

LEASE = table("bench_lease", LeaseRow, sa.UniqueConstraint("name"))
SHARE = table("bench_share", ShareRow, sa.UniqueConstraint("worker", "claimant"))
CHANGE = table("bench_change", ChangeRow, sa.Index(None, "name"))
