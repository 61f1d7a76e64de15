"""The Buildbot configuration of a workflow, which refuses unsafe log-ins and connections."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from buildbot.config import BuilderConfig, error
from buildbot.config.errors import ConfigErrors
from buildbot.configurators import ConfiguratorBase
from buildbot.plugins import util
from buildbot.secrets.providers.file import SecretInAFile
from buildbot.worker import Worker
from buildbot.www.auth import RemoteUserAuth
from buildbot.www.authz.roles import RolesFromUsername
from sqlalchemy.pool import QueuePool
from twisted.logger import Logger

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.broker import BenchBroker
from buildbot_bench.plugin.broker.quarantine import begin_build, may_start, next_build
from buildbot_bench.plugin.broker.scheduler import RECONCILE_S
from buildbot_bench.plugin.buildbot_fixes.poller import Poller
from buildbot_bench.plugin.buildbot_fixes.sturdy_build import SturdyFactory
from buildbot_bench.plugin.farm import bench_builder, profile_builder
from buildbot_bench.plugin.operations.hangs import listening, worker_ports
from buildbot_bench.plugin.private_files import PRIVATE_UMASK
from buildbot_bench.plugin.rest import endpoints as rest
from buildbot_bench.plugin.rest.access import BenchAuth
from buildbot_bench.plugin.service import BenchService
from buildbot_bench.plugin.steps.build import Checkout, CheckoutFromMirror, Compile, Merge, Patch
from buildbot_bench.plugin.steps.measure import Abandon, MeasureProbe, TakeCapture
from buildbot_bench.plugin.steps.transfer import Fetch, KeepReadFiles, Upload
from buildbot_bench.workflow.jobs import BuildJob, CheckoutStep, RunStep, UploadStep
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import Workflow
from buildbot_bench.workflow.repositories import Push

_LOG = Logger()

# By its name: the module of Buildbot's that it is in needs a library that few have.
_GOOGLE = "Google"


def check_access(config: Mapping[str, Any]) -> None:
    """Tell Buildbot what is wrong with `www`, and the log what is not secret with the workers."""
    www = config.get("www") or {}
    auth = www.get("auth")
    ways = [auth, getattr(auth, "elsewhere", None)]
    if any(isinstance(way, RemoteUserAuth) for way in ways):
        _check_proxy(www)
    if any(getattr(way, "name", None) == _GOOGLE for way in ways):
        _check_google(www, alone=getattr(auth, "name", None) == _GOOGLE)
    several = (config.get("mq") or {}).get("type") == "wamp"
    if several and isinstance(auth, BenchAuth) and auth.session_key is None:
        error(
            "www: a login at one of several masters is a login at all: let each have the same"
            " secrets/session.key, made once by `openssl rand -hex 32`"
        )
    for port in worker_ports(config.get("protocols") or {}):
        where = listening(port, of="workers")
        if not (where.is_local or where.is_encrypted):
            _LOG.warn(
                "bench: workers connect without encryption: {port}; see SECURITY.md",
                port=where.port,
            )


def _check_proxy(www: Mapping[str, Any]) -> None:
    if not listening(www.get("port"), of="pages").is_local:
        error(
            "www: RemoteUserAuth trusts a header that anybody can send to"
            f" {quoted(www.get('port'))}: let the port be 'unix:…', or listen on 127.0.0.1 alone"
            " ('tcp:8010:interface=127.0.0.1'), and the proxy remove that header from requests"
        )


def _check_google(www: Mapping[str, Any], *, alone: bool) -> None:
    """A name at Google is what stands before the @ of an address, with any domain."""
    for matcher in getattr(www.get("authz"), "roleMatchers", ()):
        if isinstance(matcher, RolesFromUsername) and (
            alone or any(str(name).endswith("@google") for name in matcher.usernames)
        ):
            error(
                "www: with GoogleAuth ann@example.org and ann@example.com have one name: give roles"
                " by RolesFromEmails"
            )


@dataclass(frozen=True, slots=True)
class WatchedRefs:
    """Tells Buildbot's poller which of a repository's references are watched branches.

    Equal ones are alike: a configuration that is read again does not start another poller.
    """

    push: Push

    def __call__(self, reference: str) -> bool:
        """Whether the full name of a reference is that of such a branch."""
        return bool(
            reference.startswith(_HEADS) and self.push.watched([reference.removeprefix(_HEADS)])
        )


_HEADS = "refs/heads/"
POLL_S = 60.0
# A worker that a restarted master cannot reach for longer than this is worth a message.
MISSING_AFTER_S = 15 * 60
# A capture is a boot and a minute of traffic, tried a few times at most.
PROFILE_S = 3600


class BenchConfigurator(ConfiguratorBase):
    """Adds a workflow's workers, builders, poller, broker and tables to a configuration.

    Each worker's password is the Buildbot secret `<worker>.pass`; `secrets` is a directory of
    such files. `poll_s` is how often the repository is asked for news, `reconcile_s` how often
    the broker looks whether an event was lost.
    """

    def __init__(
        self,
        workflow: Workflow,
        *,
        secrets: Path,
        poll_s: float = POLL_S,
        reconcile_s: float = RECONCILE_S,
    ) -> None:
        super().__init__()
        self._workflow = workflow
        self._secrets = secrets
        self._poll_s = poll_s
        self._reconcile_s = reconcile_s

    @classmethod
    def from_file(cls, path: str | Path, **settings: Any) -> Self:
        """Read a workflow file; its problems, all of them, end Buildbot's configuration."""
        try:
            workflow = load(Path(path))
        except UsageError as problem:
            raise ConfigErrors(str(problem).splitlines()) from problem
        return cls(workflow, **settings)

    def configure(self, config_dict: dict[str, Any]) -> None:
        """Fill Buildbot's dictionary; from now on the master writes for its own user alone."""
        os.umask(PRIVATE_UMASK)
        super().configure(config_dict)
        check_access(config_dict)
        rest.install()
        _keep_open(config_dict.get("db", {}))
        _refuse_shared_file(config_dict)
        if self._secrets.is_dir():
            self.secretsProviders.append(SecretInAFile(str(self._secrets)))
        self.workers.extend(self._workers())
        self.builders.extend(map(self._kernel_builder, self._workflow.build_jobs))
        self.builders.extend(self._bench_builders())
        self.builders.extend(self._profile_builders())
        config_dict.setdefault("services", []).append(BenchService(workflow=self._workflow))
        names = [builder.name for builder in self.builders]
        self.schedulers.append(
            BenchBroker(name="bench", builderNames=names, reconcile_s=self._reconcile_s)
        )
        if self._workflow.on.push is not None:
            config_dict.setdefault("change_source", []).extend(
                Poller(
                    repourl=one.url,
                    branches=(
                        WatchedRefs(one.push)
                        if one.push.is_of_patterns
                        else list(one.push.branches)
                    ),
                    pollInterval=self._poll_s,
                    pollAtLaunch=True,
                    usetimestamps=False,  # some commits have a date that no table holds
                )
                for one in {one.url: one for one in self._workflow.watches}.values()
            )

    def _workers(self) -> list[Worker]:
        names = {*self._workflow.builders}
        names |= {testbed.worker for testbed in self._workflow.testbeds.values()}
        return [
            Worker(
                name,
                util.Secret(f"{name}.pass"),
                max_builds=1,
                missing_timeout=MISSING_AFTER_S,
            )
            for name in sorted(names)
        ]

    def _kernel_builder(self, job: BuildJob) -> BuilderConfig:
        digest = self._workflow.build_digest_by(job)
        factory = SturdyFactory()
        for step in job.steps:
            match step:
                case CheckoutStep():
                    factory.addStep(self._checkout(job, step))
                    factory.addStep(Merge())
                    factory.addStep(Patch())
                case RunStep():
                    factory.addStep(self._compile(job, step))
                case UploadStep():
                    factory.addStep(KeepReadFiles(path=step.path, job=digest))
                    factory.addStep(Upload(path=step.path))
        return BuilderConfig(
            name=job.name,
            workernames=list(job.runs_on),
            factory=factory,
            collapseRequests=False,
            nextBuild=next_build,
            canStartBuild=begin_build,
            description="Builds one image of one variant",
        )

    def _checkout(self, job: BuildJob, step: CheckoutStep) -> Checkout | CheckoutFromMirror:
        built = [
            one for one in self._workflow.watches if self._workflow.build_job_of(one.key) == job
        ]
        # A job that builds several checks out the one that a request names.
        repository: Any = built[0].url if len(built) == 1 else util.Property("repository")
        if step.mirror is None:
            return Checkout(repository=repository)
        return CheckoutFromMirror(repository=repository, mirror=step.mirror, timeout=None)

    def _compile(self, job: BuildJob, step: RunStep) -> Compile:
        env = {
            **self._workflow.env,
            **job.env,
            **step.env,
            "BENCH_REVISION": util.Property("bench_label"),
            "BENCH_SHA": util.Property("revision"),
            "BENCH_IMAGE": util.Interpolate("%(prop:bench_ordinal)s"),
            "BENCH_OPTIONS": util.Property("bench_options", default=""),
            "BENCH_PATCHES": util.Property("bench_patches", default=""),
        }
        return Compile(
            name=step.name,
            script=step.run,
            env=env,
            sandbox=job.sandbox,
            workdir=f"build/{step.working_directory}",
            timeout=None,
            maxTime=job.timeout_minutes * 60,
        )

    def _bench_builders(self) -> list[BuilderConfig]:
        minutes: dict[str, float] = {}
        for job in self._workflow.bench_jobs:
            for testbed in job.testbeds:
                minutes[testbed] = max(minutes.get(testbed, 0), job.timeout_minutes)
        return [
            BuilderConfig(
                name=bench_builder(testbed),
                workernames=[self._workflow.testbeds[testbed].worker],
                factory=SturdyFactory([Fetch(), MeasureProbe(maxTime=limit * 60), Abandon()]),
                collapseRequests=False,
                canStartBuild=may_start,
                description=f"Measures images on {testbed}",
            )
            for testbed, limit in sorted(minutes.items())
        ]

    def _profile_builders(self) -> list[BuilderConfig]:
        """One for each testbed that takes captures, on the worker that also measures there."""
        return [
            BuilderConfig(
                name=profile_builder(name),
                workernames=[testbed.worker],
                factory=SturdyFactory([Fetch(), TakeCapture(maxTime=PROFILE_S)]),
                collapseRequests=False,
                canStartBuild=may_start,
                description=f"Samples how images spend their cycles on {name}",
            )
            for name, testbed in sorted(self._workflow.testbeds.items())
            if testbed.profile_s is not None
        ]


def _refuse_shared_file(config_dict: dict[str, Any]) -> None:
    """Several masters need a database that several machines may write to."""
    several = config_dict.get("mq", {}).get("type") == "wamp"
    if several and str(config_dict.get("db", {}).get("db_url", "")).startswith("sqlite"):
        error("several masters (mq: wamp) need PostgreSQL: set BENCH_DB, or unset BENCH_ROUTER")


def _keep_open(database: dict[str, Any]) -> None:
    """Let Buildbot keep its connection to SQLite, unless the configuration says otherwise.

    By default it connects for each transaction. To read the schema then takes longer than most
    queries; and who closes a database last writes its log back (https://www.sqlite.org/wal.html,
    "Checkpointing"): where the disk needs 5 ms to sync, a transaction takes 19 ms instead of 3.
    """
    if str(database.get("db_url", "")).startswith("sqlite:///"):
        database.setdefault("engine_kwargs", {}).setdefault("poolclass", QueuePool)
