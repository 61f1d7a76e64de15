"""The outline of each job, read even from a file with mistakes, for checks across jobs."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from buildbot_bench.workflow.fields import Name, OneOrMore
from buildbot_bench.workflow.github import is_upload
from buildbot_bench.workflow.jobs import BUILD_JOB, BenchJob, BuildJob, UploadStep, kind_of_job
from buildbot_bench.workflow.matrix import MOST_RULES, Excluded, Included, Matrix
from buildbot_bench.workflow.relations import JobOutline, Problem, job_problems, testbed_problems
from buildbot_bench.workflow.settings import Control, control_problems

Value = TypeVar("Value")

_NAMES: TypeAdapter[tuple[str, ...]] = TypeAdapter(OneOrMore[Name])
_INCLUDED: TypeAdapter[Excluded] = TypeAdapter(Included)
_EXCLUDED: TypeAdapter[Excluded] = TypeAdapter(Excluded)
_NAME: TypeAdapter[str] = TypeAdapter(Name)


def outline(job: BuildJob | BenchJob) -> JobOutline:
    """The outline of a job without mistakes."""
    if isinstance(job, BenchJob):
        return JobOutline(
            builds=False, needs=job.needs, runs_on=job.runs_on, matrix=job.strategy.matrix
        )
    uploads = (i for i, step in enumerate(job.steps) if isinstance(step, UploadStep))
    return JobOutline(
        builds=True, runs_on=job.runs_on, uploads=tuple(uploads), repository=job.repository
    )


def relation_problems(data: Any) -> Iterator[Problem]:
    """What does not fit together in a file that has other mistakes besides.

    Of those it makes nothing more: what cannot be understood is taken to fit.
    """
    written = _at(data, "jobs")
    if not isinstance(written, dict):
        return
    jobs = {name: _outline_of(job) for name, job in written.items() if _is_name(name)}
    testbeds = {
        name: value for name, value in _mapping(_at(data, "testbeds")).items() if _is_name(name)
    }
    repositories = [name for name in _mapping(_at(data, "repositories")) if _is_name(name)]
    yield from job_problems(jobs, repositories)
    labels = {
        name: _understood(_NAMES, _at(value, "labels")) or () for name, value in testbeds.items()
    }
    yield from testbed_problems(labels, jobs)
    if all(job.builds or job.workloads is not None for job in jobs.values()):
        workloads = {name: _workloads_on(name, labels[name], jobs) for name in testbeds}
        control = TypeAdapter(Control)
        controls = {
            name: _understood(control, _at(value, "control")) for name, value in testbeds.items()
        }
        yield from control_problems(controls, workloads)


def _workloads_on(
    testbed: str, labels: tuple[str, ...], jobs: Mapping[str, JobOutline]
) -> tuple[str, ...]:
    return tuple(
        workload
        for job in jobs.values()
        for word, workloads in job.measured.items()
        if word == testbed or word in labels
        for workload in workloads
    )


def _outline_of(job: Any) -> JobOutline:
    if kind_of_job(job) == BUILD_JOB:
        return JobOutline(
            builds=True,
            runs_on=_understood(_NAMES, _at(job, "runs-on")),
            uploads=_uploads(_at(job, "steps")),
            repository=_repository(_at(job, "steps")),
        )
    return JobOutline(
        builds=False,
        needs=_understood(_NAMES, _at(job, "needs")),
        runs_on=_understood(_NAMES, _at(job, "runs-on")),
        matrix=_matrix(_at(_at(job, "strategy"), "matrix")),
    )


def _matrix(written: Any) -> Matrix | None:
    """What can be understood of a matrix; a rule that cannot be does nothing in it."""
    workload = _understood(_NAMES, _at(written, "workload"))
    if workload is None:
        return None
    return Matrix.model_construct(
        workload=workload,
        include=_rules(_INCLUDED, _at(written, "include")),
        exclude=_rules(_EXCLUDED, _at(written, "exclude")),
    )


def _rules(adapter: TypeAdapter[Excluded], written: Any) -> tuple[Excluded, ...]:
    nothing = Included.model_construct()
    rules = written[:MOST_RULES] if isinstance(written, list) else ()
    return tuple(_understood(adapter, rule) or nothing for rule in rules)


def _uploads(steps: Any) -> tuple[int, ...] | None:
    if not isinstance(steps, list) or not steps:
        return None
    found = tuple(i for i, step in enumerate(steps) if is_upload(_at(step, "uses")))
    unclear = any(not isinstance(step, dict) or not {"uses", "run"} & {*step} for step in steps)
    return found if found or not unclear else None


def _repository(steps: Any) -> str | None:
    named = (
        (_at(_at(step, "with"), "repository") for step in steps) if isinstance(steps, list) else ()
    )
    return next((_understood(_NAME, name) for name in named if name is not None), None)


def _understood(adapter: TypeAdapter[Value], value: Any) -> Value | None:
    if value is None:
        return None
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return None


def _at(mapping: Any, key: str) -> Any:
    """The value of a key; where it is missing, behind the one that is nearest to it."""
    keys = _mapping(mapping)
    if key in keys:
        return keys[key]
    near = get_close_matches(key, [str(one) for one in keys], n=1, cutoff=0.8)
    return keys.get(near[0]) if near else None


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _is_name(key: Any) -> bool:
    return _understood(_NAME, key) is not None
