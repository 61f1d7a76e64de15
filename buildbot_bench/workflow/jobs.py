"""What a job of bench.yml may say, be it one that builds or one that measures; no job runs here."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, WithJsonSchema

from buildbot_bench.workflow.fields import Environment, Model, Name, OneOrMore, Text

Minutes = Annotated[float, Field(gt=0, le=7 * 24 * 60)]

MOST_ITERATIONS = 1000

# The tags of the two unions. Pydantic puts them into the place of an error, where no key of a
# file can be mistaken for them.
BUILD_JOB = "a job that builds"
BENCH_JOB = "a job that measures"
CHECKOUT_STEP = "a checkout step"
RUN_STEP = "a run step"
UPLOAD_STEP = "an upload step"


class CheckoutInputs(Model):
    """What the checkout step may be told."""

    mirror: Text
    """A bare repository on the builder, made if absent, of which the source tree is a worktree."""


class CheckoutStep(Model):
    """Put the revision's source tree into the build's directory."""

    uses: Literal["checkout"]
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

    uses: Literal["upload-artefact"]
    name: Text = "Upload the artefact"
    with_: UploadInputs

    @property
    def path(self) -> str:
        """The file or directory that is the artefact, relative to the source tree."""
        return self.with_.path


def _kind_of_step(step: Any) -> str:
    if isinstance(step, RunStep) or (isinstance(step, dict) and "uses" not in step):
        return RUN_STEP
    if isinstance(step, UploadStep) or (
        isinstance(step, dict) and str(step["uses"]).startswith("upload")
    ):
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


def _with_use_alone(value: Any) -> Any:
    """`sandbox: none` is `sandbox: {use: none}`."""
    return {"use": value} if isinstance(value, str) else value


Sandboxing = Annotated[
    SandboxSettings,
    BeforeValidator(_with_use_alone, json_schema_input_type=SandboxSettings | SandboxUse),
]


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


class Matrix(Model):
    """What is measured of each image."""

    workload: OneOrMore[Name]
    """The workloads: traffic and DUT configuration sets that the testbed knows by name."""


class Strategy(Model):
    """GitHub's place for the matrix."""

    matrix: Matrix


def _iterations(value: Any) -> Any:
    """One validator for both kinds, so that a wrong value is one problem and not two.

    Raises:
        ValueError: For any other value.
    """
    if value == "auto" or (
        isinstance(value, int) and not isinstance(value, bool) and 3 <= value <= MOST_ITERATIONS
    ):
        return value
    raise ValueError(
        f"should be a number from 3 (Student's t needs them) to {MOST_ITERATIONS}, or auto, "
        f"not {value!r}"
    )


Iterations = Annotated[
    int | Literal["auto"],
    BeforeValidator(_iterations),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 3, "maximum": MOST_ITERATIONS},
                {"const": "auto"},
            ]
        }
    ),
]


class BenchJob(_Job):
    """Measures an image on testbeds."""

    needs: OneOrMore[Name]
    """The job whose artefact is measured; or one that measures it too, as a gate: a commit is
    measured here only when the gate's exact figure moved, or could not be had."""
    runs_on: OneOrMore[Name]
    """Testbeds, or labels of several of one kind; each of them measures each revision."""
    strategy: Strategy
    iterations: Iterations = 5
    """How often a revision is booted and measured; auto: until the noise is known well enough."""
    timeout_minutes: Minutes = 60
    """How long one measurement, all its iterations, may take."""

    _pools: tuple[tuple[str, ...], ...] = PrivateAttr(default=())

    @property
    def pools(self) -> tuple[tuple[str, ...], ...]:
        """The testbeds behind each word of `runs-on`: one, or all that have the label."""
        return self._pools or tuple((name,) for name in self.runs_on)

    def on(self, pools: tuple[tuple[str, ...], ...]) -> Self:
        """The same job, with the testbeds behind each word of `runs-on`."""
        job = self.model_copy()
        job._pools = pools  # noqa: SLF001 - our own copy
        return job

    @property
    def testbeds(self) -> tuple[str, ...]:
        """The testbeds that measure."""
        return tuple(testbed for pool in self.pools for testbed in pool)

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that are measured."""
        return self.strategy.matrix.workload


def _kind_of_job(job: Any) -> str:
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
    Discriminator(_kind_of_job),
]
