"""The tables of branches, commits, images, comparisons, probes, iterations and captures."""

from __future__ import annotations

import sqlalchemy as sa

from buildbot_bench.api.states import AbTestState, ProbeState
from buildbot_bench.core.revision import SHA_LENGTH
from buildbot_bench.core.sharing import PersonPriority
from buildbot_bench.plugin.db import states
from buildbot_bench.plugin.db.schema.columns import (
    DIGEST_LENGTH,
    METADATA,
    HostileText,
    JsonText,
    choice,
    version,
)

UNDONE = "state IN ('lost', 'cancelled')"
FAILED = "failure_kind IS NOT NULL"


def few(name: str, *columns: str, where: str) -> sa.Index:
    """An index of those rows alone for which a condition holds."""
    condition = sa.text(where)
    return sa.Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


COMMIT = sa.Table(
    "bench_commit",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("branch", HostileText, nullable=False),
    sa.Column("sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("parent_sha", sa.String(SHA_LENGTH)),
    sa.Column("svn", sa.Integer),
    sa.Column("subject", HostileText, nullable=False),
    sa.Column("author", HostileText, nullable=False),
    sa.Column("committed_at_s", sa.BigInteger, nullable=False),
    sa.Column("important", sa.Boolean, nullable=False),
    sa.Column("arrived_at", sa.Double, nullable=False),
    sa.Column("no_op_of", HostileText),
    sa.UniqueConstraint("branch", "position"),
    sa.UniqueConstraint("branch", "sha"),
    sa.Index(None, "svn"),
    sa.Index(None, "sha"),
)

BRANCH = sa.Table(
    "bench_branch",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", HostileText, nullable=False, unique=True),
    sa.Column("trunk", HostileText),
    sa.Column("fork_position", sa.Integer, nullable=False),
)

# What a branch had before it was moved back or replaced: it is measured, and not its history.
DROPPED_COMMIT = sa.Table(
    "bench_dropped_commit",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("branch", HostileText, nullable=False),
    sa.Column("sha", sa.String(SHA_LENGTH), nullable=False),
    sa.UniqueConstraint("branch", "sha"),
)

# Units of a lab's own workloads; those of this package's drivers are known by their names.
METRIC = sa.Table(
    "bench_metric",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("unit", HostileText, nullable=False),
    sa.Column("name", HostileText, nullable=False),
    sa.Column("higher_is_better", sa.Boolean, nullable=False),
    sa.Column("exact", sa.Boolean, nullable=False),
    sa.UniqueConstraint("testbed", "workload", "unit"),
)

IMAGE = sa.Table(
    "bench_image",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("sha", sa.String(SHA_LENGTH), nullable=False),
    sa.Column("variant", HostileText, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("label", HostileText, nullable=False),
    sa.Column("state", choice(states.ImageState), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("brid", sa.Integer),
    sa.Column("reason", HostileText),
    sa.Column("digest", sa.Text),
    sa.Column("size", sa.BigInteger),
    sa.Column("path", HostileText),
    sa.Column("build_s", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    version(),
    sa.Column("kernel_digest", sa.Text),
    sa.Column("manifest", JsonText),
    sa.Column("read_files", sa.String(DIGEST_LENGTH)),
    sa.Column("built_by", sa.String(DIGEST_LENGTH)),
    sa.Column("branch", HostileText),
    sa.Column("repository", HostileText, nullable=False, server_default=""),
    sa.UniqueConstraint("repository", "variant", "ordinal"),
    sa.Index(None, "position", "version", "repository"),
    sa.Index(None, "state"),
)

AB_TEST = sa.Table(
    "bench_ab_test",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("series", JsonText, nullable=False),
    sa.Column("iterations", sa.Integer, nullable=False),
    sa.Column("confidence", sa.Double, nullable=False),
    sa.Column("min_effect", sa.Double, nullable=False),
    sa.Column("requester", HostileText, nullable=False),
    sa.Column("state", choice(AbTestState), nullable=False),
    sa.Column("detail", HostileText),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    version(),
    sa.Column("decided_by", HostileText),
    sa.Column("resumed_at", sa.Double),
    sa.Column("images", sa.Integer, nullable=False, server_default="1"),
    sa.Column("priority", choice(PersonPriority), nullable=False, server_default="normal"),
    sa.Column("limited", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("extended_by", HostileText),
    sa.Index(None, "state"),
    sa.Index(None, "requester"),
)

AB_TEST_VARIANT = sa.Table(
    "bench_ab_test_variant",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ab_test_id", sa.ForeignKey(AB_TEST.c.id), nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("image_id", sa.ForeignKey(IMAGE.c.id), nullable=False),
    sa.Column("tunables", HostileText, nullable=False),
    sa.Column("variant", HostileText, nullable=False),
    sa.Column("label", HostileText, nullable=False),
    sa.UniqueConstraint("ab_test_id", "ordinal"),
)

AB_TEST_IMAGE = sa.Table(
    "bench_ab_test_image",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ab_test_id", sa.ForeignKey(AB_TEST.c.id), nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("image_id", sa.ForeignKey(IMAGE.c.id), nullable=False),
    sa.Column("boots", sa.Integer, nullable=False),
    sa.UniqueConstraint(
        *("ab_test_id", "place", "testbed", "workload", "number"), name="bench_ab_test_image_key"
    ),
    sa.Index(None, "image_id"),
)

PROBE = sa.Table(
    "bench_probe",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", HostileText, nullable=False, unique=True),
    sa.Column("token", HostileText, nullable=False),
    sa.Column("image_id", sa.ForeignKey(IMAGE.c.id), nullable=False),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("epoch", HostileText, nullable=False),
    sa.Column("iterations", sa.Integer, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("reason", choice(states.ProbeReason), nullable=False),
    sa.Column("search_id", sa.ForeignKey("bench_search.id")),
    sa.Column("state", choice(ProbeState), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("brid", sa.Integer),
    sa.Column("failure", HostileText),
    sa.Column("failure_kind", sa.Text),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("issued_at", sa.Double),
    sa.Column("ended_at", sa.Double),
    sa.Column("judged", sa.Boolean, nullable=False, default=False),
    version(),
    sa.Column("tunables", HostileText, nullable=False, server_default=""),
    sa.Column("ab_test_id", sa.ForeignKey(AB_TEST.c.id)),
    sa.Column("judgement_id", sa.ForeignKey("bench_judgement.id")),
    sa.Column("serial", sa.Integer, nullable=False, server_default="0"),
    sa.Column("round", sa.Integer, nullable=False, server_default="0"),
    sa.Column("budget_of", HostileText),
    sa.Index(None, "token"),
    sa.Index(None, "state", "judged"),
    sa.Index(None, "search_id"),
    sa.Index(None, "image_id", "testbed", "workload"),
    sa.Index(None, "ab_test_id"),
    sa.Index(None, "testbed", "reason"),
    # Few of many: what was asked for and gave nothing.
    few("bench_probe_undone", "state", "testbed", "workload", where=UNDONE),
    few("bench_probe_failed", "failure_kind", "image_id", where=FAILED),
    few("bench_probe_budget", "budget_of", "issued_at", where="budget_of IS NOT NULL"),
)

ITERATION = sa.Table(
    "bench_iteration",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("probe_id", sa.ForeignKey(PROBE.c.id), nullable=False),
    sa.Column("image_id", sa.ForeignKey(IMAGE.c.id), nullable=False),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("epoch", HostileText, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("unit", HostileText, nullable=False),
    sa.Column("is_primary", sa.Boolean, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("failure", HostileText),
    sa.Column("at_s", sa.Double, nullable=False),
    sa.Column("duration_s", sa.Double, nullable=False),
    sa.Column("times", JsonText),
    # The long columns stand last: SQLite then finds the short ones without reading past a log.
    sa.Column("facts", JsonText, nullable=False),
    sa.Column("log", HostileText, nullable=False),
    sa.Column("tunables", HostileText, nullable=False, server_default=""),
    sa.UniqueConstraint("probe_id", "ordinal", "unit"),
    # With all that a chart of ten thousand revisions needs: the rows with their logs stay unread.
    sa.Index(
        "bench_iteration_series",
        *("testbed", "workload", "tunables", "image_id"),
        *("epoch", "unit", "is_primary", "value", "at_s", "probe_id"),
    ),
)

QUARANTINE = sa.Table(
    "bench_quarantine",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("probe_id", sa.ForeignKey(PROBE.c.id), nullable=False, unique=True),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("epoch", HostileText, nullable=False),
    sa.Column("since_s", sa.Double, nullable=False),
    sa.Column("shift", sa.Double),
    sa.Column("reason", HostileText, nullable=False),
    sa.Column("begun_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    sa.Column("ended_by", HostileText),
    sa.Column("trusted", sa.Boolean, nullable=False, default=False),
    version(),
    sa.Index(None, "testbed", "since_s"),
)

CAPTURE = sa.Table(
    "bench_capture",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(DIGEST_LENGTH), nullable=False, unique=True),
    sa.Column("counter", HostileText, nullable=False),
    sa.Column("taken_at", sa.Double, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("packets", sa.Integer, nullable=False, default=0, server_default="0"),
    sa.Column("places", sa.LargeBinary),
)

PROFILE = sa.Table(
    "bench_profile",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("key", HostileText, nullable=False, unique=True),
    sa.Column("token", HostileText, nullable=False),
    sa.Column("image_id", sa.ForeignKey(IMAGE.c.id), nullable=False),
    sa.Column("search_id", sa.ForeignKey("bench_search.id")),
    sa.Column("ab_test_id", sa.ForeignKey(AB_TEST.c.id)),
    sa.Column("testbed", HostileText, nullable=False),
    sa.Column("workload", HostileText, nullable=False),
    sa.Column("tunables", HostileText, nullable=False),
    sa.Column("state", choice(states.ProfileState), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, default=0),
    sa.Column("brid", sa.Integer),
    sa.Column("failure", HostileText),
    sa.Column("digest", sa.String(DIGEST_LENGTH)),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
    version(),
    sa.Index(None, "state"),
    sa.Index(None, "search_id"),
    sa.Index(None, "ab_test_id"),
)
