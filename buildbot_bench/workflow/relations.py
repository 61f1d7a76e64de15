"""Checks across a workflow's jobs, by an outline of each, read even from a file with mistakes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from buildbot_bench.workflow.fields import Name, OneOrMore
from buildbot_bench.workflow.jobs import BUILD_JOB, BenchJob, BuildJob, UploadStep, kind_of_job
from buildbot_bench.workflow.matrix import (
    MOST_RULES,
    Excluded,
    Included,
    Matrix,
    matrix_problems,
)
from buildbot_bench.workflow.problems import (
    Place,
    Problem,
    is_upload,
    machine_problem,
    nearest,
)
from buildbot_bench.workflow.settings import Control, control_problems


@dataclass(frozen=True, kw_only=True, slots=True)
class JobOutline:
    """Of a job what others have to do with; None: what the file says there cannot be understood.

    `uploads` are the numbers of the steps that keep an artefact. `repository` is the one that a
    job builds; None: each that no other job builds.
    """

    builds: bool
    needs: tuple[str, ...] | None = None
    runs_on: tuple[str, ...] | None = None
    matrix: Matrix | None = None
    uploads: tuple[int, ...] | None = None
    repository: str | None = None

    @property
    def measured(self) -> dict[str, tuple[str, ...]]:
        """The workloads by the testbed or the label on which the matrix has them."""
        found: dict[str, tuple[str, ...]] = {}
        if self.matrix and self.runs_on is not None and not self.matrix.is_too_large(self.runs_on):
            for one in self.matrix.combinations(self.runs_on):
                word, workload = one.get("testbed", ""), one.get("workload", "")
                found[word] = (*found.get(word, ()), workload)
        return found

    @property
    def workloads(self) -> tuple[str, ...] | None:
        """All that is measured, on any testbed."""
        if self.matrix is None or self.runs_on is None:
            return None
        return tuple(dict.fromkeys(name for names in self.measured.values() for name in names))


Outlines = Mapping[str, JobOutline]


def job_problems(jobs: Outlines, repositories: Sequence[str] = ()) -> Iterator[Problem]:
    """Whether each repository has one build job, and measuring jobs need one, or a gate that does.

    `repositories` are the names of several; empty where there is one without a name.
    """
    builds = [name for name, job in jobs.items() if job.builds]
    benches = [name for name, job in jobs.items() if not job.builds]
    if not builds:
        yield Problem(place=("jobs",), message="no job builds: one must have 'steps'")
    yield from _builder_problems({name: jobs[name].repository for name in builds}, repositories)
    if not benches:
        message = "no job measures: one must have 'needs', 'runs-on' and 'strategy'"
        yield Problem(place=("jobs",), message=message)
    for name in builds:
        yield from _artefact_problems(name, jobs[name])
    for name, job in jobs.items():
        yield from _machine_problems(name, job)
    yield from _bench_problems(benches, jobs)


def _builder_problems(
    builders: Mapping[str, str | None], repositories: Sequence[str]
) -> Iterator[Problem]:
    """Whether each repository is built by one job; `builders` name the one that each builds."""
    first: dict[str | None, str] = {}
    for job, repository in builders.items():
        where: Place = ("jobs", job)
        if repository is not None and repository not in repositories:
            known = nearest(repository, repositories) or ": 'repositories' names none"
            message = f"there is no repository '{repository}'{known}"
            yield Problem(place=(*where, "steps"), message=message, of_key=True)
        elif repository in first:
            what = "only one job may build" if repository is None else f"one builds '{repository}'"
            message = f"{what}, and '{first[repository]}' does already"
            yield Problem(place=where, message=message, of_key=True)
        first.setdefault(repository, job)
    unbuilt = [name for name in repositories if name not in first]
    if None not in first and builders:
        for name in unbuilt:
            message = f"no job builds '{name}': add one that checks out with {{repository: {name}}}"
            yield Problem(place=("repositories", name), message=message, of_key=True)
    elif repositories and not unbuilt and None in first:
        message = "builds nothing: each repository has a job of its own"
        yield Problem(place=("jobs", first[None]), message=message, of_key=True)


def _machine_problems(name: str, job: JobOutline) -> Iterator[Problem]:
    for word in job.runs_on or ():
        if message := machine_problem(word, builds=job.builds):
            yield Problem(place=("jobs", name, "runs-on"), message=message)


def _bench_problems(names: Iterable[str], jobs: Outlines) -> Iterator[Problem]:
    for name in names:
        job = jobs[name]
        if job.matrix is not None and job.runs_on is not None:
            yield from matrix_problems(name, job.matrix, job.runs_on)
        for needed in job.needs or ():
            if message := _need_problem(name, needed, jobs):
                yield Problem(place=("jobs", name, "needs"), message=message)


def _need_problem(name: str, needed: str, jobs: Outlines) -> str:
    gate = jobs.get(needed)
    if gate is None:
        others = [known for known in jobs if known != name]
        return f"there is no job '{needed}'{nearest(needed, others)}"
    if gate.builds:
        return ""
    if needed == name:
        builds = [known for known, job in jobs.items() if job.builds]
        return f"'{needed}' builds nothing{nearest(needed, builds)}"
    if any(one in jobs and not jobs[one].builds for one in gate.needs or ()):
        return f"'{needed}' is no gate: a gate needs the job that builds, and no other gate"
    return _workload_problem(needed, gate.workloads, jobs[name].workloads)


def _workload_problem(
    needed: str, gates: tuple[str, ...] | None, behind: tuple[str, ...] | None
) -> str:
    if gates is None or behind is None or set(gates) & set(behind):
        return ""
    return f"the gate '{needed}' measures no workload of this job, only {', '.join(gates)}"


def _artefact_problems(name: str, job: JobOutline) -> Iterator[Problem]:
    if job.uploads is None:
        return
    if not job.uploads:
        message = "no step keeps the artefact: add 'uses: upload-artefact'"
        yield Problem(place=("jobs", name, "steps"), message=message)
    for surplus in job.uploads[1:]:
        message = "a build has one artefact, kept by a step above"
        yield Problem(place=("jobs", name, "steps", surplus), message=message)


def testbed_problems(labels: Mapping[str, Collection[str]], jobs: Outlines) -> Iterator[Problem]:
    """Whether each testbed that a job names is described, once any is; `labels` of each."""
    for testbed, given in labels.items():
        for label in given:
            if label in labels:
                message = f"'{label}' is the name of a testbed: call the label otherwise"
                yield Problem(place=("testbeds", testbed, "labels"), message=message)
    for name, job in jobs.items():
        if labels and not job.builds:
            yield from _place_problems(name, job, labels)


def _place_problems(
    name: str, job: JobOutline, labels: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    known = {*labels, *(label for given in labels.values() for label in given)}
    places: dict[str, Place] = dict.fromkeys(job.runs_on or (), ("jobs", name, "runs-on"))
    for index, rule in enumerate(job.matrix.include if job.matrix else ()):
        if rule.testbed is not None:
            where = ("jobs", name, "strategy", "matrix", "include", index, "testbed")
            places.setdefault(rule.testbed, where)
    for word, place in places.items():
        if word not in known:
            message = f"'testbeds' has no '{word}'{nearest(word, known)}"
            yield Problem(place=place, message=message)
    measured = job.measured
    for testbed, given in labels.items():
        words = [word for word in places if word == testbed or word in given]
        for word, other in combinations(words, 2):
            if job.matrix is None or set(measured.get(word, ())) & set(measured.get(other, ())):
                message = f"'{word}' and '{other}' are both '{testbed}'"
                yield Problem(place=places[other], message=message)


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
