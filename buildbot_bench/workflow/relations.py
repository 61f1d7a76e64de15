"""What the parts of a workflow owe each other: jobs, their needs, their testbeds; reads no file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from buildbot_bench.workflow.jobs import BenchJob, BuildJob, UploadStep

Place = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong, and the keys that lead to it from the top of the file."""

    place: Place
    message: str


class RelationError(ValueError):
    """Parts that are well formed but do not fit together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def nearest(word: str, known: Collection[str]) -> str:
    """`; did you mean 'matrix'?` or, when nothing is near, what there is."""
    if matches := get_close_matches(word, known, n=1, cutoff=0.5):
        return f"; did you mean '{matches[0]}'?"
    return f"; known here: {', '.join(known)}" if known else ""


def require(problems: Iterator[Problem]) -> None:
    """See that there is no problem.

    Raises:
        RelationError: With all of them, if there are any.
    """
    if found := tuple(problems):
        raise RelationError(found)


def job_problems(jobs: Mapping[str, BuildJob | BenchJob]) -> Iterator[Problem]:
    """Whether there is one build job and each measuring job needs it, or a gate that does."""
    builds = {name: job for name, job in jobs.items() if isinstance(job, BuildJob)}
    benches = {name: job for name, job in jobs.items() if isinstance(job, BenchJob)}
    if not builds:
        yield Problem(place=("jobs",), message="no job builds: one must have 'steps'")
    for surplus in list(builds)[1:]:
        message = f"only one job may build, and '{next(iter(builds))}' does already"
        yield Problem(place=("jobs", surplus), message=message)
    if not benches:
        message = "no job measures: one must have 'needs', 'runs-on' and 'strategy'"
        yield Problem(place=("jobs",), message=message)
    for name, build in builds.items():
        yield from _artefact_problems(name, build)
    for name, bench in benches.items():
        for needed in bench.needs:
            if message := _need_problem(name, needed, jobs):
                yield Problem(place=("jobs", name, "needs"), message=message)


def _need_problem(name: str, needed: str, jobs: Mapping[str, BuildJob | BenchJob]) -> str:
    """What is wrong with a need of the job of that name; empty when nothing is."""
    builds = [known for known, job in jobs.items() if isinstance(job, BuildJob)]
    match jobs.get(needed):
        case BuildJob():
            return ""
        case None:
            others = [known for known in jobs if known != name]
            return f"there is no job '{needed}'{nearest(needed, others)}"
        case BenchJob() if needed == name:
            return f"'{needed}' builds nothing{nearest(needed, builds)}"
        case BenchJob() as gate if any(isinstance(jobs.get(one), BenchJob) for one in gate.needs):
            return f"'{needed}' is no gate: a gate needs the job that builds, and no other gate"
        case BenchJob() as gate:
            return _workload_problem(needed, gate, jobs[name])
    return ""


def _workload_problem(needed: str, gate: BenchJob, behind: BuildJob | BenchJob) -> str:
    if not isinstance(behind, BenchJob) or set(gate.workloads) & set(behind.workloads):
        return ""
    known = ", ".join(gate.workloads)
    return f"the gate '{needed}' measures no workload of this job, only {known}"


def _artefact_problems(name: str, job: BuildJob) -> Iterator[Problem]:
    uploads = [i for i, step in enumerate(job.steps) if isinstance(step, UploadStep)]
    if not uploads:
        message = "no step keeps the artefact: add 'uses: upload-artefact'"
        yield Problem(place=("jobs", name, "steps"), message=message)
    for surplus in uploads[1:]:
        message = "a build has one artefact, kept by a step above"
        yield Problem(place=("jobs", name, "steps", surplus), message=message)


def testbed_problems(
    labels: Mapping[str, Collection[str]], jobs: Mapping[str, BuildJob | BenchJob]
) -> Iterator[Problem]:
    """Whether each testbed that a job names is described, once any is; `labels` of each."""
    for testbed, given in labels.items():
        for label in given:
            if label in labels:
                message = f"'{label}' is the name of a testbed: call the label otherwise"
                yield Problem(place=("testbeds", testbed, "labels"), message=message)
    for name, job in jobs.items():
        if labels and isinstance(job, BenchJob):
            yield from _place_problems(name, job.runs_on, labels)


def _place_problems(
    name: str, runs_on: tuple[str, ...], labels: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    place = ("jobs", name, "runs-on")
    known = {*labels, *(label for given in labels.values() for label in given)}
    for word in runs_on:
        if word not in known:
            message = f"'testbeds' has no '{word}'{nearest(word, known)}"
            yield Problem(place=place, message=message)
    for testbed, given in labels.items():
        words = [word for word in runs_on if word == testbed or word in given]
        if len(words) > 1:
            message = f"'{words[0]}' and '{words[1]}' are both '{testbed}'"
            yield Problem(place=place, message=message)
