"""The bench_* tables as they are now; how they came to be so is told by the migrations.

What a row means is said in rows.
"""

from buildbot_bench.plugin.db.schema.base import DIGEST_LENGTH, METADATA
from buildbot_bench.plugin.db.schema.commits import ARTEFACT, COMMIT, IMAGE, PATCH
from buildbot_bench.plugin.db.schema.measuring import (
    CAPTURE,
    ITERATION,
    PROBE,
    PROFILE,
    QUARANTINE,
    TRIAL,
)
from buildbot_bench.plugin.db.schema.telling import COMPARISON, MARK, NOTICE, REPORT, SEARCH

__all__ = [
    "ARTEFACT",
    "CAPTURE",
    "COMMIT",
    "COMPARISON",
    "DIGEST_LENGTH",
    "IMAGE",
    "ITERATION",
    "MARK",
    "METADATA",
    "NOTICE",
    "PATCH",
    "PROBE",
    "PROFILE",
    "QUARANTINE",
    "REPORT",
    "SEARCH",
    "TRIAL",
]
