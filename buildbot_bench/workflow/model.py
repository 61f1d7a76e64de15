"""The whole of bench.yml as a model, and the facts that follow from it."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from buildbot_bench.core.legible import quoted
from buildbot_bench.core.links import Links, links_of
from buildbot_bench.workflow.fields import (
    Asked,
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
from buildbot_bench.workflow.notify import Notify, notify_problems
from buildbot_bench.workflow.problems import Problem, require
from buildbot_bench.workflow.relations import job_problems, outline, testbed_problems
from buildbot_bench.workflow.repositories import (
    Concurrency,
    On,
    Push,
    RepositoryEntry,
    Triggers,
    Url,
    WatchedRepository,
    form_problems,
    schedule_problems,
)
from buildbot_bench.workflow.settings import (
    ArtefactStorage,
    Control,
    LinkTemplates,
    Mail,
    Sharing,
    Storing,
    UntrustedLimits,
    control_problems,
    owner_problems,
    unknown_testbeds,
)

# A URL, or ssh's user@host:path.
_REMOTE = re.compile(r"[a-z][a-z0-9+]*://.+|[^/\s:]+@[^/\s:]+:.+", re.IGNORECASE)

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
    """`95`, `95.0` and `95%` are one of ministat's levels."""
    text = str(value).removesuffix("%").strip()
    for level in CONFIDENCE_LEVELS:
        if text in {f"{level:g}", f"{level:.1f}"}:
            return level
    levels = ", ".join(f"{level:g}" for level in CONFIDENCE_LEVELS)
    raise ValueError(f"should be one of ministat's levels {levels}, not {quoted(value)}")


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
    first_parent: Switch = False
    """A merge counts as one commit: no search goes on inside the merge that it found."""
    second_opinion: Asked = None
    """Boot both sides of the culprit of an alarm on another testbed of the same workload, too: on
    the one with the fewest searches, or on those that are named. false: on none."""


class Workflow(Model):
    """The whole of bench.yml."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["repository"]}, {"required": ["repositories"]}]}
    )

    name: Text
    """What people call this farm."""
    repository: Url | None = None
    """URL of the git repository that is watched, or its path relative to this file."""
    repositories: Annotated[dict[Name, RepositoryEntry] | None, Field(validate_default=True)] = None
    """Instead of `repository`: several by their names. A branch of the second, `ports`, is called
    ports:main, a revision ports:n245062; the first one's have their plain names."""
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
    links: LinkTemplates = LinkTemplates()
    """Where mails and pages link to: a commit, its review, its diff, a line of a file."""
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

    @field_validator("repositories")
    @classmethod
    def _one_form(
        cls, repositories: dict[str, RepositoryEntry] | None, info: ValidationInfo
    ) -> dict[str, RepositoryEntry] | None:
        if "repository" in info.data:
            require(form_problems(info.data["repository"], repositories))
        return repositories

    @field_validator("jobs")
    @classmethod
    def _jobs_fit(cls, jobs: dict[str, Job], info: ValidationInfo) -> dict[str, Job]:
        if "repositories" in info.data:
            names = tuple(info.data["repositories"] or ())
            require(job_problems({name: outline(job) for name, job in jobs.items()}, names))
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
                control_problems({name: one.control for name, one in testbeds.items()}, workloads),
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
    def _parts_fit(self) -> Self:
        if self.mail is None:
            require(owner_problems({name: one.control for name, one in self.testbeds.items()}))
        require(unknown_testbeds(self.regression.second_opinion or (), self.testbeds))
        require(notify_problems(self.notify, [*(self.repositories or ())]))
        for problem in schedule_problems((one.branch for one in self.on.schedule), self.watches):
            raise ValueError(problem)
        if self.reviews is None and any(one.names_reviews for one in self.on.schedule):
            message = "'factors' name a review: say 'reviews', its site's URL"
            require(iter([Problem(place=("on", "schedule"), message=message)]))
        return self

    def model_post_init(self, context: Any, /) -> None:
        """Take the directory of the file from the validation's context."""
        self._base = Path((context or {}).get("base", ""))

    @property
    def base(self) -> Path:
        """The directory of bench.yml, from which its relative paths count."""
        return self._base

    @cached_property
    def watches(self) -> tuple[WatchedRepository, ...]:
        """The repositories, the first one first, and what of each is watched or followed."""
        push = self.on.followed
        named = self.repositories or {"": RepositoryEntry(url=self.repository or "-")}
        return tuple(
            WatchedRepository(
                key=name if number else "",
                name=name,
                url=self._url(one.url),
                written=one.url,
                push=one.watched_by(push),
            )
            for number, (name, one) in enumerate(named.items())
        )

    def watch(self, key: str) -> WatchedRepository | None:
        """The repository whose branches have that name in front; None when it is not watched."""
        return next((one for one in self.watches if one.key == key), None)

    def watched(self, branches: Iterable[str]) -> tuple[str, ...]:
        """Those of some branches that are watched or followed, in the file's order."""
        names = tuple(branches)
        return tuple(branch for one in self.watches for branch in one.taken(names))

    def _url(self, written: str) -> str:
        """A repository as git takes it: the URL as written, or an absolute path."""
        if _REMOTE.fullmatch(written):
            return written
        return str((self._base / Path(written).expanduser()).resolve())

    @property
    def repository_url(self) -> str:
        """The first repository as git takes it: the URL as written, or an absolute path."""
        return self.watches[0].url

    def pages_of_commits(self, key: str = "") -> Links:
        """Where a repository's commits, reviews and files are read.

        What bench.yml states is of the first repository; the others go by their own URLs.
        """
        if not key:
            return links_of(
                self.repository_url, stated=self.links.links, reviews=self.reviews or ""
            )
        watched = self.watch(key)
        return links_of(watched.url, reviews=self.reviews or "") if watched else Links()

    @property
    def branches(self) -> tuple[str, ...]:
        """The patterns of the first repository's branches whose history is read."""
        return self.watches[0].push.branches

    @cached_property
    def build_jobs(self) -> tuple[BuildJob, ...]:
        """The jobs that build, in the file's order."""
        return tuple(job for job in self.jobs.values() if isinstance(job, BuildJob))

    @property
    def build_job(self) -> BuildJob:
        """The job that builds the first repository, or all there are."""
        return self.build_job_of("")

    @property
    def builders(self) -> tuple[str, ...]:
        """The workers that build, each once."""
        return tuple(dict.fromkeys(name for job in self.build_jobs for name in job.runs_on))

    def build_job_of(self, key: str) -> BuildJob:
        """The job that builds a repository; of one that is no longer watched, the first one's."""
        watched = self.watch(key) or self.watches[0]
        own = (job for job in self.build_jobs if job.repository == watched.name)
        others = (job for job in self.build_jobs if job.repository is None)
        return next(chain(own, others))

    def build_digest_of(self, key: str) -> str:
        """What tells apart the ways in which a repository's kernels are built."""
        return self.build_digest_by(self.build_job_of(key))

    def build_digest_by(self, job: BuildJob) -> str:
        """What tells a job from others that build otherwise: SHA-256, in hexadecimal."""
        # Not what it is that is built.
        without = {"with_": {"repository"}}
        steps = [step.model_dump(mode="json", exclude=without) for step in job.steps]
        text = json.dumps([steps, dict(self.env), dict(job.env)], sort_keys=True, default=str)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def bench_jobs(self) -> tuple[BenchJob, ...]:
        """The jobs that measure, in the file's order, each knowing its testbeds."""
        return tuple(
            job.on({word: self._pool(word) for word in job.words}, self._measured_by(job))
            for job in self.jobs.values()
            if isinstance(job, BenchJob)
        )

    def _measured_by(self, job: BenchJob) -> tuple[str, ...]:
        """The keys of the repositories whose kernels a job measures, be it behind a gate."""
        builds = {
            need
            for name in job.needs
            for need in (name, *getattr(self.jobs[name], "needs", ()))
            if isinstance(self.jobs[need], BuildJob)
        }
        return tuple(one.key for one in self.watches if self.build_job_of(one.key).name in builds)

    def workloads_on(self, testbed: str) -> tuple[str, ...]:
        """What may be measured on a testbed, in the file's order; nothing where there is none."""
        declared = self.testbeds.get(testbed)
        return () if declared is None else _workloads_on(testbed, declared, self.jobs)

    def _pool(self, name: str) -> tuple[str, ...]:
        if name in self.testbeds:
            return (name,)
        return tuple(key for key, testbed in self.testbeds.items() if name in testbed.labels)


def _workloads_on(name: str, testbed: DeclaredTestbed, jobs: Mapping[str, Job]) -> tuple[str, ...]:
    words = {name, *testbed.labels}
    found = (
        workload
        for job in jobs.values()
        if isinstance(job, BenchJob)
        for workload in job.workloads_of(words)
    )
    return tuple(dict.fromkeys(found))
