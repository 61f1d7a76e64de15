"""The jobs of bench.yml, which build or measure, with their steps."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, WithJsonSchema

from buildbot_bench.workflow.fields import Environment, Model, Name, OneOrMore, Text, alone
from buildbot_bench.workflow.matrix import Iterations, Strategy
from buildbot_bench.workflow.problems import CHECKOUT, UPLOAD, is_upload, our_action

Minutes = Annotated[float, Field(gt=0, le=7 * 24 * 60)]

# The tags of the two unions. Pydantic puts them into the place of an error, where no key of a
# file can be mistaken for them.
BUILD_JOB = "a job that builds"
BENCH_JOB = "a job that measures"
CHECKOUT_STEP = "a checkout step"
RUN_STEP = "a run step"
UPLOAD_STEP = "an upload step"


class CheckoutInputs(Model):
    """The settings of the checkout step."""

    mirror: Text | None = None
    """A bare repository on the builder, made if absent, of which the source tree is a worktree."""
    repository: Name | None = None
    """The one of `repositories` that the job builds; without it the job builds each that no other
    job does, as a commit comes."""


def _action(ours: str, theirs: str) -> Any:
    """A schema of a step's `uses`: our word, or GitHub's with any version."""
    pattern = f"^{theirs}(@[^@]*)?$"
    return WithJsonSchema({"anyOf": [{"const": ours}, {"type": "string", "pattern": pattern}]})


class CheckoutStep(Model):
    """Put the revision's source tree into the build's directory."""

    uses: Annotated[
        Literal["checkout"], BeforeValidator(our_action), _action(CHECKOUT, "actions/checkout")
    ]
    name: Text = "Check out"
    with_: CheckoutInputs | None = None

    @property
    def mirror(self) -> str | None:
        """The builder's own mirror; None: the build's directory is a clone."""
        return self.with_.mirror if self.with_ else None


class RunStep(Model):
    """Run a script by `sh -e` in the source tree."""

    run: Text
    name: Text = "Run"
    env: Environment = Field(default_factory=dict)
    working_directory: Text = "."


class UploadInputs(Model):
    """What the upload step takes."""

    path: Text
    """The file or directory that is the artefact, relative to the source tree."""


class UploadStep(Model):
    """Keep what was built as the artefact that the lab boots."""

    uses: Annotated[
        Literal["upload-artefact"],
        BeforeValidator(our_action),
        _action(UPLOAD, "(actions/)?upload-artifact"),
    ]
    name: Text = "Upload the artefact"
    with_: UploadInputs

    @property
    def path(self) -> str:
        """The file or directory that is the artefact, relative to the source tree."""
        return self.with_.path


def _kind_of_step(step: Any) -> str:
    if isinstance(step, RunStep) or (isinstance(step, dict) and "uses" not in step):
        return RUN_STEP
    if isinstance(step, UploadStep) or (isinstance(step, dict) and is_upload(step["uses"])):
        return UPLOAD_STEP
    return CHECKOUT_STEP


Step = Annotated[
    Annotated[CheckoutStep, Tag(CHECKOUT_STEP)]
    | Annotated[RunStep, Tag(RUN_STEP)]
    | Annotated[UploadStep, Tag(UPLOAD_STEP)],
    Discriminator(_kind_of_step),
]


class _Job(Model):
    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The job's key in `jobs`."""
        return self._name

    def named(self, name: str) -> Self:
        """The same job under its key."""
        job = self.model_copy()
        job._name = name  # noqa: SLF001 - our own copy
        return job


SandboxUse = Literal["auto", "bubblewrap", "jail", "none"]


class SandboxSettings(Model):
    """What `run:` steps see of the builder: their directory, the system's programs, no network."""

    use: SandboxUse = "auto"
    """auto: variants with patches are built in a sandbox where the builder has one; bubblewrap or
    jail: all are, in that one, or none is built; none: no sandbox."""
    read: OneOrMore[Text] = ()
    """Files and directories of the builder that the steps see besides: a compiler, a mirror."""
    write: OneOrMore[Text] = ()
    """Directories of the builder in which they may write besides their own."""


Sandboxing = Annotated[SandboxSettings, alone("use", SandboxSettings | SandboxUse)]
"""`sandbox: none` is `sandbox: {use: none}`."""


class BuildJob(_Job):
    """Builds a revision on a builder worker and keeps the artefact."""

    runs_on: OneOrMore[Name]
    """The worker that builds, or several of which any may."""
    timeout_minutes: Minutes = 120
    """How long a build may take."""
    env: Environment = Field(default_factory=dict)
    """Environment variables of every step; they win over the workflow's."""
    sandbox: Sandboxing = SandboxSettings()
    """What the steps see of the builder."""
    steps: Annotated[tuple[Step, ...], Field(min_length=1)]
    """What is done, in order."""

    @property
    def repository(self) -> str | None:
        """The one of `repositories` that it builds; None: each that no other job builds."""
        named = (
            step.with_.repository
            for step in self.steps
            if isinstance(step, CheckoutStep) and step.with_ is not None
        )
        return next(filter(None, named), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A workload on a testbed, or on one of those with a label, as a job's matrix has it."""

    runs_on: str
    workload: str
    iterations: int | Literal["auto"]


class BenchJob(_Job):
    """Measures an image on testbeds."""

    needs: OneOrMore[Name]
    """The job whose artefact is measured; or one that measures it too, as a gate: a commit is
    measured here only when the gate's exact figure moved, or there is none."""
    runs_on: OneOrMore[Name]
    """Testbeds, or labels of several of one kind; each of them measures each revision."""
    strategy: Strategy
    iterations: Iterations = 5
    """How often a revision is booted and measured; auto: until the noise is known well enough."""
    timeout_minutes: Minutes = 60
    """How long one measurement, all its iterations, may take."""

    _pools: Mapping[str, tuple[str, ...]] = PrivateAttr(default_factory=dict)
    _repositories: tuple[str, ...] = PrivateAttr(default=("",))

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What is measured where: the matrix, with what it excludes and includes."""
        found = (
            Cell(
                runs_on=one.get("testbed", ""),
                workload=one.get("workload", ""),
                iterations=one.get("iterations", self.iterations),
            )
            for one in self.strategy.matrix.combinations(self.runs_on)
        )
        return tuple({(cell.runs_on, cell.workload): cell for cell in found}.values())

    @property
    def words(self) -> tuple[str, ...]:
        """The testbeds and labels that measure something: of `runs-on`, and of the matrix."""
        return tuple(dict.fromkeys(cell.runs_on for cell in self.cells))

    def pool(self, word: str) -> tuple[str, ...]:
        """The testbeds behind a word: the one of that name, or all that have the label."""
        return self._pools.get(word, (word,))

    def on(
        self, pools: Mapping[str, tuple[str, ...]], repositories: tuple[str, ...] = ("",)
    ) -> Self:
        """The same job, with the testbeds behind each of its words, and what it measures there."""
        job = self.model_copy()
        job._pools, job._repositories = pools, repositories  # noqa: SLF001 - our own copy
        return job

    @property
    def repositories(self) -> tuple[str, ...]:
        """The repositories whose kernels are measured, by what their branches have in front."""
        return self._repositories

    @property
    def testbeds(self) -> tuple[str, ...]:
        """The testbeds that measure."""
        return tuple(dict.fromkeys(testbed for word in self.words for testbed in self.pool(word)))

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that are measured, on any testbed."""
        return tuple(dict.fromkeys(cell.workload for cell in self.cells))

    def workloads_of(self, words: Collection[str]) -> tuple[str, ...]:
        """The workloads that are measured on some testbeds or labels."""
        found = (cell.workload for cell in self.cells if cell.runs_on in words)
        return tuple(dict.fromkeys(found))


def kind_of_job(job: Any) -> str:
    """Which of the two kinds a job is meant to be, also one with mistakes."""
    if isinstance(job, BenchJob):
        return BENCH_JOB
    if (
        isinstance(job, dict)
        and "steps" not in job
        and {"needs", "strategy", "iterations"} & set(job)
    ):
        return BENCH_JOB
    return BUILD_JOB


Job = Annotated[
    Annotated[BuildJob, Tag(BUILD_JOB)] | Annotated[BenchJob, Tag(BENCH_JOB)],
    Discriminator(kind_of_job),
]
