"""The task of a search without a farm, from the command line or bench.yml, and its campaign."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from buildbot_bench.archives.prebuilt import PrebuiltSource, which_are_there
from buildbot_bench.cli.console import say
from buildbot_bench.cli.local_arguments import LocalOptions, LocalTask, WorkflowChoice
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.report.words import count
from buildbot_bench.core.revision import RevisionRange
from buildbot_bench.lab.command.settings import CommandSettings, CommandWorkload
from buildbot_bench.lab.tables import load_testbeds, nearest
from buildbot_bench.local.builds import Repository, Workshop
from buildbot_bench.local.campaign import Campaign, earlier_than, take_over
from buildbot_bench.local.recipe import BuildRecipe, BuildStep
from buildbot_bench.local.revisions import Revisions
from buildbot_bench.programs import Git, GitRefusedError

if TYPE_CHECKING:
    from buildbot_bench.workflow.jobs import BuildJob, RunStep
    from buildbot_bench.workflow.model import Workflow

WORKFLOW = "bench.yml"
# Beside bench.yml, where `bench-farm init` puts it, and where this repository has its own.
TESTBEDS = ("testbeds.toml", "lab/testbeds.toml", "workers/lab/testbeds.toml")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Measured:
    """A workload of a command testbed that a job measures."""

    testbed: str
    workload: str
    settings: CommandWorkload


def task_of(options: LocalOptions, git: Git) -> LocalTask:
    """What is built and measured: as the command line says, or a workflow."""
    if isinstance(options.task, LocalTask):
        return options.task
    return workflow_task(options.task, _workflow_of(options.task, git))


def _workflow_of(choice: WorkflowChoice, git: Git) -> Path:
    if choice.workflow is not None:
        return choice.workflow
    try:
        top = Path(git.text("rev-parse", "--show-toplevel").strip())
    except GitRefusedError:  # a bare repository
        top = git.place
    path = top / WORKFLOW
    if not path.is_file():
        raise UsageError(
            f"--run is missing, the command that is measured, and there is no {path}",
            hint="as in --run './bench --quick', with --value for what it prints; "
            "or name a workflow by --workflow FILE",
        )
    return path


def workflow_task(choice: WorkflowChoice, path: Path) -> LocalTask:
    """What a workflow says of what is chosen; fails as `task_of` does."""
    # What it needs is the extra `workflow`; --build and --run do without.
    from buildbot_bench.workflow.load import load  # noqa: PLC0415

    workflow = load(path)
    chosen = _chosen(choice, _measured(workflow, _testbeds(choice, path)), path)
    job = workflow.build_job
    minutes = job.timeout_minutes
    own_effect = workflow.min_effect_on(chosen.testbed)
    return LocalTask(
        steps=_steps(workflow, job),
        upload=_upload(job),
        workload=chosen.settings,
        name=chosen.workload,
        min_effect=own_effect if choice.min_effect is None else choice.min_effect,
        error=workflow.regression.error,
        build_timeout_s=60 * minutes if choice.build_timeout_s is None else choice.build_timeout_s,
    )


def _testbeds(choice: WorkflowChoice, workflow: Path) -> Path:
    if choice.testbeds is not None:
        return choice.testbeds
    places = [workflow.absolute().parent / name for name in TESTBEDS]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UsageError(
            f"there is no {TESTBEDS[0]} beside {workflow}, nor in lab/",
            hint="name it by --testbeds FILE; it says what a command testbed runs, "
            "see docs/how-to/measure-a-command.md",
        )
    return found


def _measured(workflow: Workflow, testbeds: Path) -> list[_Measured]:
    """All that the workflow's jobs measure by commands, in its order."""
    known: Mapping[str, CommandSettings] = {
        name: testbed.settings
        for name, testbed in load_testbeds(testbeds).items()
        if isinstance(testbed.settings, CommandSettings)
    }
    found = {
        (testbed, cell.workload): known[testbed].workloads[cell.workload]
        for job in workflow.bench_jobs
        for cell in job.cells
        for testbed in job.pool(cell.runs_on)
        if testbed in known and cell.workload in known[testbed].workloads
    }
    if not found:
        raise UsageError(
            f"no job of the workflow measures a workload of a command testbed in {testbeds}",
            hint='a testbed with driver = "command" runs it, see docs/how-to/measure-a-command.md; '
            "or say it by --build and --run",
        )
    return [
        _Measured(testbed=testbed, workload=name, settings=settings)
        for (testbed, name), settings in found.items()
    ]


def _chosen(choice: WorkflowChoice, measured: list[_Measured], path: Path) -> _Measured:
    left = measured
    wanted = {"workload": choice.workload, "testbed": choice.testbed}
    for kind, name in wanted.items():
        by_name: dict[str, list[_Measured]] = {}
        for one in left:
            by_name.setdefault(getattr(one, kind), []).append(one)
        if name is None and len(by_name) > 1:
            raise UsageError(
                f"{path} measures {', '.join(by_name)} by commands", hint=f"name one by --{kind}"
            )
        if name is not None and name not in by_name:
            raise UsageError(f"--{kind} {name}: there is none", hint=nearest(name, by_name))
        left = by_name[name or next(iter(by_name))]
    return left[0]


def _steps(workflow: Workflow, job: BuildJob) -> tuple[BuildStep, ...]:
    from buildbot_bench.workflow.jobs import RunStep  # noqa: PLC0415

    def made(step: RunStep) -> BuildStep:
        variables = {**workflow.env, **job.env, **step.env}
        return BuildStep(
            script=step.run,
            environment=tuple(variables.items()),
            directory=step.working_directory,
            strict=True,
        )

    return tuple(made(step) for step in job.steps if isinstance(step, RunStep))


def _upload(job: BuildJob) -> str:
    from buildbot_bench.workflow.jobs import UploadStep  # noqa: PLC0415

    return next(step.path for step in job.steps if isinstance(step, UploadStep))


def campaign_of(options: LocalOptions, task: LocalTask, revisions: Revisions) -> Campaign:
    """How revisions are built, and what is measured of them; fails as `Revisions.sha` does."""
    return Campaign(
        recipe=BuildRecipe(
            steps=task.steps,
            artefacts=task.artefacts,
            upload=task.upload,
            prebuilt=task.prebuilt,
            fix=options.fix and revisions.sha(options.fix),
        ),
        workload=task.workload,
        name=task.name,
    )


def built_by_others(
    options: LocalOptions, task: LocalTask, between: RevisionRange
) -> frozenset[str]:
    """The hashes of the revisions that somebody else built; fails as the source does."""
    if not task.prebuilt:
        return frozenset()
    if options.fix:
        raise UsageError("what others built has no --with in it", hint="search without --prebuilt")
    if not task.steps:
        raise UsageError(
            "--prebuilt goes with --build: builds of your own prove a step",
            hint="or have --build fetch what others built of $BENCH_SHA, without --prebuilt",
        )
    shas = [one.sha for one in between.revisions]
    source = PrebuiltSource(pattern=task.prebuilt)
    found = which_are_there(source, shas, "")
    if not found:
        raise UsageError(
            f"--prebuilt {task.prebuilt}: nothing is there of {count(len(shas), 'revision')}",
            hint=f"of the newest it would be {source.place(shas[-1], '')}",
        )
    say(f"{len(found)} of {count(len(shas), 'revision')} need not be built")
    return found


def workshop_of(repository: Repository, campaign: Campaign, timeout_s: float) -> Workshop:
    """Where a campaign's builds are made; what a killed process left there is removed."""
    git, room, store = repository.git, repository.room, repository.store
    workshop = Workshop(git, room, store, campaign.recipe, timeout_s=timeout_s)
    workshop.clear()
    return workshop


def keep_builds(
    options: LocalOptions,
    campaign: Campaign,
    repository: Repository,
    tell: Callable[[str], None],
) -> None:
    """Take over what the last command built that only built otherwise, or tell how to."""
    earlier = earlier_than(campaign, repository)
    if earlier is None:
        return
    what = f"{count(len(earlier.builds), 'build')} and {count(earlier.runs, 'run')}"
    if options.keep_builds:
        campaign_id = repository.store.campaign(campaign.digest, campaign.told, now=time.time())
        take_over(earlier, campaign_id, campaign.recipe.digest, repository)
        tell(f"{what} by another --build or --with are kept")
    elif not repository.store.images(campaign.recipe.digest):
        tell(
            f"{what} by another --build or --with are not used: --keep-builds keeps them, "
            "where it was changed for revisions that failed"
        )
