"""bench.yml as frozen models: builds, measurements, verdicts and mails."""

from buildbot_bench.workflow.jobs import (
    BenchJob,
    BuildJob,
    CheckoutStep,
    RunStep,
    Step,
    UploadStep,
)
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import DeclaredTestbed, Regression, Workflow
from buildbot_bench.workflow.notify import GitHub, Notify, Phabricator
from buildbot_bench.workflow.repositories import (
    Push,
    RepositoryEntry,
    Schedule,
    Triggers,
    WatchedRepository,
)
from buildbot_bench.workflow.settings import Control, Mail

__all__ = [
    "BenchJob",
    "BuildJob",
    "CheckoutStep",
    "Control",
    "DeclaredTestbed",
    "GitHub",
    "Mail",
    "Notify",
    "Phabricator",
    "Push",
    "Regression",
    "RepositoryEntry",
    "RunStep",
    "Schedule",
    "Step",
    "Triggers",
    "UploadStep",
    "WatchedRepository",
    "Workflow",
    "load",
]
