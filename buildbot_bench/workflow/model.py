"""What bench.yml may say and what follows from it; it knows neither YAML nor lines nor Buildbot."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from buildbot_bench.workflow.control import Control, control_problems, owner_problems
from buildbot_bench.workflow.fields import (
    Environment,
    Fraction,
    Model,
    Name,
    OneOrMore,
    Seconds,
    Site,
    Switch,
    Text,
)
from buildbot_bench.workflow.jobs import BenchJob, BuildJob, Job
from buildbot_bench.workflow.mail import Mail
from buildbot_bench.workflow.notify import Notify
from buildbot_bench.workflow.outlines import outline
from buildbot_bench.workflow.relations import job_problems, require, testbed_problems
from buildbot_bench.workflow.sharing import Sharing
from buildbot_bench.workflow.storing import ArtefactStorage, Storing
from buildbot_bench.workflow.triggers import Concurrency, On, Push, Triggers
from buildbot_bench.workflow.untrusted import UntrustedLimits

# A URL, or ssh's user@host:path.
_REMOTE = re.compile(r"[a-z][a-z0-9+]*://.+|[^/\s:]+@[^/\s:]+:.+", re.IGNORECASE)

_PASSWORD = re.compile(r"[^/]+://[^/@]*:[^/@]*@")

# The levels of ministat's table, in percent.
CONFIDENCE_LEVELS = (80.0, 90.0, 95.0, 98.0, 99.0, 99.5)


class DeclaredTestbed(Model):
    """Which worker serves a testbed, and what one iteration costs there."""

    __test__ = False  # pytest takes the name for a test

    worker: Name = "lab"
    """The lab worker that serves it."""
    labels: OneOrMore[Name] = ()
    """What else `runs-on` may call it; testbeds that share a label are machines of one kind."""
    boot_s: Annotated[Seconds, Field(alias="boot")] = 60.0
    """From the start of an iteration to a DUT that is ready."""
    run_s: Annotated[Seconds, Field(alias="run")] = 30.0
    """How long one workload blasts."""
    profile_s: Annotated[Seconds | None, Field(alias="profile")] = None
    """How long the mail of a culprit waits for captures of where the cycles went, before and
    after; without it none is taken here. The lab's testbed must be set up for them."""
    min_effect: Fraction | None = None
    """What regression.min-effect is here, where the testbed can tell more, or less, than others."""
    control: Control | None = None
    """A kernel that is measured again and again: it tells whether the testbed is well."""


def _level(value: Any) -> float:
    """`95`, `95.0` and `95%` are one of ministat's levels.

    Raises:
        ValueError: For another number.
    """
    text = str(value).removesuffix("%").strip()
    for level in CONFIDENCE_LEVELS:
        if text in {f"{level:g}", f"{level:.1f}"}:
            return level
    levels = ", ".join(f"{level:g}" for level in CONFIDENCE_LEVELS)
    raise ValueError(f"should be one of ministat's levels {levels}, not {value!r}")


Level = Annotated[float, BeforeValidator(_level), WithJsonSchema({"enum": [*CONFIDENCE_LEVELS]})]


class Regression(Model):
    """When a difference counts as a regression, and how sure a search must be."""

    confidence: Level = 95.0
    """The level of Student's t, in percent: one of ministat's."""
    min_effect: Fraction = 0.02
    """Differences below this share of the old level are not relevant."""
    error: Fraction = 0.01
    """The probability with which a search may name the wrong culprit."""
    false_alarms: Annotated[float, Field(gt=0, le=100)] = 1.0
    """How many alarms in 1000 commits may be false, of all testbeds and workloads together."""
    improvements: Switch = True
    """Search for what made a kernel faster, too, when the lab has nothing else to do; the weekly
    digest tells of it. false: such an alarm is only shown."""
    max_measurements: Annotated[int, Field(ge=10, le=100_000)] = 2000
    """How many iterations a search may ask for before it gives up as inconclusive."""


class Workflow(Model):
    """The whole of bench.yml."""

    name: Text
    """What people call this farm."""
    repository: Text
    """URL of the git repository that is watched, or its path relative to this file."""
    on: On = Triggers(push=Push())
    """What starts measurements."""
    concurrency: Concurrency = Concurrency()
    """What becomes of commits that wait when others arrive."""
    env: Environment = Field(default_factory=dict)
    """Environment variables of every build."""
    jobs: dict[Name, Job]
    """One job that builds, and those that measure what it built."""
    testbeds: dict[Name, DeclaredTestbed] = Field(default_factory=dict, validate_default=True)
    """What the lab's testbeds cost and who serves them."""
    regression: Regression = Regression()
    """When a difference counts as a regression."""
    reviews: Site | None = None
    """URL of the Phabricator whose reviews D8526 and its like name in a variant."""
    artefacts: Storing = ArtefactStorage()
    """Where built kernels lie, and for how long."""
    untrusted: UntrustedLimits = UntrustedLimits()
    """What people without the role `approve` may have at a time."""
    sharing: Sharing = Sharing()
    """Who gets which share of a testbed that several want."""
    mail: Mail | None = None
    """Who is told; without it nobody is."""
    notify: Notify = Notify()
    """Where it is told besides."""

    _base: Path = PrivateAttr(default=Path())

    @field_validator("repository")
    @classmethod
    def _no_password(cls, repository: str) -> str:
        if _PASSWORD.match(repository):
            raise ValueError("holds a password: use a credential helper of git's, or an ssh key")
        return repository

    @field_validator("jobs")
    @classmethod
    def _jobs_fit(cls, jobs: dict[str, Job]) -> dict[str, Job]:
        require(job_problems({name: outline(job) for name, job in jobs.items()}))
        return {name: job.named(name) for name, job in jobs.items()}

    @field_validator("testbeds")
    @classmethod
    def _testbeds_fit(
        cls, testbeds: dict[str, DeclaredTestbed], info: ValidationInfo
    ) -> dict[str, DeclaredTestbed]:
        if "jobs" not in info.data:
            return testbeds  # what fits them is asked when they are mended
        jobs: dict[str, Job] = info.data["jobs"]
        labels = {name: testbed.labels for name, testbed in testbeds.items()}
        outlines = {name: outline(job) for name, job in jobs.items()}
        workloads = {name: _workloads_on(name, one, jobs) for name, one in testbeds.items()}
        require(
            chain(
                testbed_problems(labels, outlines),
                control_problems(testbeds, workloads),
            )
        )
        if testbeds:
            return testbeds
        named = (name for job in jobs.values() if isinstance(job, BenchJob) for name in job.words)
        return dict.fromkeys(named, DeclaredTestbed())

    def min_effect_on(self, testbed: str) -> float:
        """The smallest relevant difference on a testbed, as a fraction of the old level."""
        declared = self.testbeds.get(testbed, DeclaredTestbed())
        return self.regression.min_effect if declared.min_effect is None else declared.min_effect

    @model_validator(mode="after")
    def _owners_have_mail(self) -> Self:
        if self.mail is None:
            require(owner_problems(self.testbeds))
        return self

    def model_post_init(self, context: Any, /) -> None:
        """Take the directory of the file from the validation's context."""
        self._base = Path((context or {}).get("base", ""))

    @property
    def base(self) -> Path:
        """The directory of bench.yml, from which its relative paths count."""
        return self._base

    @property
    def repository_url(self) -> str:
        """The repository as git takes it: the URL as written, or an absolute path."""
        if _REMOTE.fullmatch(self.repository):
            return self.repository
        return str((self._base / Path(self.repository).expanduser()).resolve())

    @property
    def branches(self) -> tuple[str, ...]:
        """The patterns of the branches whose history is read, watched or not."""
        return self.on.followed.branches

    @property
    def build_job(self) -> BuildJob:
        """The job that builds."""
        return next(job for job in self.jobs.values() if isinstance(job, BuildJob))

    @property
    def build_digest(self) -> str:
        """What tells apart the ways in which kernels are built: SHA-256, in hexadecimal."""
        job = self.build_job
        steps = [step.model_dump(mode="json") for step in job.steps]
        text = json.dumps([steps, dict(self.env), dict(job.env)], sort_keys=True, default=str)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def bench_jobs(self) -> tuple[BenchJob, ...]:
        """The jobs that measure, in the file's order, each knowing its testbeds."""
        return tuple(
            job.on({word: self._pool(word) for word in job.words})
            for job in self.jobs.values()
            if isinstance(job, BenchJob)
        )

    def workloads_on(self, testbed: str) -> tuple[str, ...]:
        """What may be measured on a testbed, in the file's order; nothing where there is none."""
        declared = self.testbeds.get(testbed)
        return () if declared is None else _workloads_on(testbed, declared, self.jobs)

    def _pool(self, name: str) -> tuple[str, ...]:
        """The testbed of that name, or those with that label in the file's order."""
        if name in self.testbeds:
            return (name,)
        return tuple(key for key, testbed in self.testbeds.items() if name in testbed.labels)


def _workloads_on(name: str, testbed: DeclaredTestbed, jobs: Mapping[str, Job]) -> tuple[str, ...]:
    """The workloads of the jobs that run on a testbed or on one of its labels, each once."""
    words = {name, *testbed.labels}
    found = (
        workload
        for job in jobs.values()
        if isinstance(job, BenchJob)
        for workload in job.workloads_of(words)
    )
    return tuple(dict.fromkeys(found))
