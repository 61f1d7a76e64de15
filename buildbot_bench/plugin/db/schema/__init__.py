"""The schema of the bench_* tables."""

from buildbot_bench.plugin.db.schema.changes import CHANGE
from buildbot_bench.plugin.db.schema.columns import DIGEST_LENGTH, METADATA
from buildbot_bench.plugin.db.schema.findings import (
    INCIDENT_SERIES,
    JUDGEMENT,
    MARK,
    NOTICE,
    REPORT,
    SEARCH,
)
from buildbot_bench.plugin.db.schema.kept import ARTEFACT, PATCH, READ_FILES
from buildbot_bench.plugin.db.schema.masters import LEASE
from buildbot_bench.plugin.db.schema.measured import (
    AB_TEST,
    AB_TEST_IMAGE,
    AB_TEST_VARIANT,
    BRANCH,
    CAPTURE,
    COMMIT,
    DROPPED_COMMIT,
    IMAGE,
    ITERATION,
    METRIC,
    PROBE,
    PROFILE,
    QUARANTINE,
)
from buildbot_bench.plugin.db.schema.sharing import SHARE

__all__ = [
    "AB_TEST",
    "AB_TEST_IMAGE",
    "AB_TEST_VARIANT",
    "ARTEFACT",
    "BRANCH",
    "CAPTURE",
    "CHANGE",
    "COMMIT",
    "DIGEST_LENGTH",
    "DROPPED_COMMIT",
    "IMAGE",
    "INCIDENT_SERIES",
    "ITERATION",
    "JUDGEMENT",
    "LEASE",
    "MARK",
    "METADATA",
    "METRIC",
    "NOTICE",
    "PATCH",
    "PROBE",
    "PROFILE",
    "QUARANTINE",
    "READ_FILES",
    "REPORT",
    "SEARCH",
    "SHARE",
]
