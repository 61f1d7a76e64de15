"""Checks across a workflow's jobs: needs, artefacts, machines, matrices and testbeds."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations

from buildbot_bench.workflow.github import machine_problem
from buildbot_bench.workflow.matrix import MOST_COMBINATIONS, Matrix

Place = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong, and the keys that lead to it from the top of the file.

    `of_key`: the last key itself is wrong, and not its value. `mark` is the line and
    the column within a long text, both from 1, where they are known better than by the keys.
    """

    place: Place
    message: str
    of_key: bool = False
    mark: tuple[int, int] | None = None


class RelationError(ValueError):
    """Parts that are well formed but do not fit together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


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
        if self.matrix is not None and self.runs_on is not None and not self.is_too_large:
            for one in self.matrix.combinations(self.runs_on):
                word, workload = one.get("testbed", ""), one.get("workload", "")
                found[word] = (*found.get(word, ()), workload)
        return found

    @property
    def is_too_large(self) -> bool:
        """Whether the matrix has more combinations than are ever meant."""
        size = len(self.runs_on or ()) * len(self.matrix.workload if self.matrix else ())
        return size > MOST_COMBINATIONS

    @property
    def workloads(self) -> tuple[str, ...] | None:
        """All that is measured, on any testbed."""
        if self.matrix is None or self.runs_on is None:
            return None
        return tuple(dict.fromkeys(name for names in self.measured.values() for name in names))


Outlines = Mapping[str, JobOutline]


def nearest(word: str, known: Collection[str]) -> str:
    """`; did you mean 'matrix'?` or, when nothing is near, all of them."""
    if matches := get_close_matches(word, known, n=1, cutoff=0.5):
        return f"; did you mean '{matches[0]}'?"
    return f"; known here: {', '.join(known)}" if known else ""


def require(problems: Iterator[Problem]) -> None:
    """See that there is no problem."""
    if found := tuple(problems):
        raise RelationError(found)


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
        yield from matrix_problems(name, jobs[name])
        for needed in jobs[name].needs or ():
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


def matrix_problems(name: str, job: JobOutline) -> Iterator[Problem]:
    """Whether what a matrix excludes is in it, and what it includes can be measured."""
    if job.matrix is None or job.runs_on is None:
        return
    where: Place = ("jobs", name, "strategy", "matrix")
    if job.is_too_large:
        message = f"has more than {MOST_COMBINATIONS} combinations: make several jobs of it"
        yield Problem(place=where, message=message)
        return
    for index, rule in enumerate(job.matrix.exclude):
        for key, word, known in (
            ("testbed", rule.testbed, job.runs_on),
            ("workload", rule.workload, job.matrix.workload),
        ):
            if word is not None and word not in known:
                message = f"excludes nothing: this matrix has no '{word}'{nearest(word, known)}"
                yield Problem(place=(*where, "exclude", index, key), message=message)
    for index, included in enumerate(job.matrix.include):
        if included.testbed is None and included.workload not in {None, *job.matrix.workload}:
            message = f"'{included.workload}' is new in this matrix: name the 'testbed', too"
            yield Problem(place=(*where, "include", index), message=message)
        if included.workload is None and included.testbed not in {None, *job.runs_on}:
            message = f"'{included.testbed}' is not in 'runs-on': name the 'workload', too"
            yield Problem(place=(*where, "include", index), message=message)
    if not any(job.measured.values()):
        yield Problem(place=(*where, "exclude"), message="leaves nothing to measure")


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
