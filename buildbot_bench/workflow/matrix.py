"""A job's matrix of testbeds and workloads, by GitHub's rules, and its problems."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from buildbot_bench.core.legible import quoted
from buildbot_bench.workflow.fields import Model, Name, OneOrMore
from buildbot_bench.workflow.problems import Place, Problem, nearest

MOST_ITERATIONS = 1000
# GitHub takes 256 jobs of a matrix; here each is no more than a row of a table.
MOST_COMBINATIONS = 1000
MOST_RULES = 256


def combinations(
    axes: Mapping[str, Sequence[str]],
    *,
    include: Sequence[Mapping[str, Any]] = (),
    exclude: Sequence[Mapping[str, Any]] = (),
) -> tuple[dict[str, Any], ...]:
    """All combinations of the axes' values, changed as GitHub does it.

    https://docs.github.com/en/actions/how-tos/write-workflows/choose-what-workflows-do/
    run-job-variations: first each combination goes that has all that a rule of `exclude` says.
    Then what each rule of `include` says is added to all combinations of which it overwrites no
    original value, though it may overwrite what an earlier rule added; where it fits none, it is a
    combination of its own, to which no later rule adds. A rule of `exclude` that says nothing
    takes nothing away.
    """
    all_of_them = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    rules = [rule for rule in exclude if rule]
    kept = [one for one in all_of_them if axes and not any(_has(one, rule) for rule in rules)]
    extended: list[dict[str, Any]] = [dict(one) for one in kept]
    alone: list[dict[str, Any]] = []
    for rule in include:
        original = {key: value for key, value in rule.items() if key in axes}
        fitting = [new for new, one in zip(extended, kept, strict=True) if _has(one, original)]
        for new in fitting:
            new.update(rule)
        if not fitting:
            alone.append(dict(rule))
    return (*extended, *alone)


def _has(combination: Mapping[str, Any], rule: Mapping[str, Any]) -> bool:
    return all(key in combination and combination[key] == rule[key] for key in rule)


def _iterations(value: Any) -> Any:
    """One validator for both kinds, so that a wrong value is one problem and not two."""
    if value == "auto" or (
        isinstance(value, int) and not isinstance(value, bool) and 3 <= value <= MOST_ITERATIONS
    ):
        return value
    raise ValueError(
        f"should be a number from 3 (Student's t needs them) to {MOST_ITERATIONS}, or auto, "
        f"not {quoted(value)}"
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


class Excluded(Model):
    """What is not measured: a workload, all of a testbed, or one on the other."""

    workload: Name | None = None
    testbed: Name | None = None
    """A word of `runs-on`."""

    @model_validator(mode="after")
    def _something_is_said(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("says nothing: name a 'workload', a 'testbed', or both")
        return self


class Included(Excluded):
    """What is measured besides, or what is measured otherwise."""

    iterations: Iterations | None = None
    """In place of the job's `iterations`."""


class Matrix(Model):
    """What is measured of each image."""

    workload: OneOrMore[Name]
    """The workloads: traffic and DUT configuration sets that the testbed knows by name."""
    include: Annotated[tuple[Included, ...], Field(max_length=MOST_RULES)] = ()
    """What is measured besides, and what differently, by GitHub's rules: {testbed, workload,
    iterations}."""
    exclude: Annotated[tuple[Excluded, ...], Field(max_length=MOST_RULES)] = ()
    """What is not measured, by GitHub's rules: {testbed, workload}."""

    def combinations(self, runs_on: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """What is measured on the words of `runs-on`: {testbed, workload} and perhaps iterations.

        A combination that only `include` has may lack one of the two.
        """
        return combinations(
            {"testbed": runs_on, "workload": self.workload},
            include=[rule.model_dump(exclude_none=True) for rule in self.include],
            exclude=[rule.model_dump(exclude_none=True) for rule in self.exclude],
        )

    def is_too_large(self, runs_on: Sequence[str]) -> bool:
        """Whether it has more combinations than are ever meant."""
        return len(runs_on) * len(self.workload) > MOST_COMBINATIONS


class Strategy(Model):
    """GitHub's place for the matrix."""

    matrix: Matrix


def matrix_problems(name: str, matrix: Matrix, runs_on: Sequence[str]) -> Iterator[Problem]:
    """Whether what a job's matrix excludes is in it, and what it includes can be measured."""
    where: Place = ("jobs", name, "strategy", "matrix")
    if matrix.is_too_large(runs_on):
        message = f"has more than {MOST_COMBINATIONS} combinations: make several jobs of it"
        yield Problem(place=where, message=message)
        return
    for index, rule in enumerate(matrix.exclude):
        for key, word, known in (
            ("testbed", rule.testbed, runs_on),
            ("workload", rule.workload, matrix.workload),
        ):
            if word is not None and word not in known:
                message = f"excludes nothing: this matrix has no '{word}'{nearest(word, known)}"
                yield Problem(place=(*where, "exclude", index, key), message=message)
    for index, included in enumerate(matrix.include):
        if included.testbed is None and included.workload not in {None, *matrix.workload}:
            message = f"'{included.workload}' is new in this matrix: name the 'testbed', too"
            yield Problem(place=(*where, "include", index), message=message)
        if included.workload is None and included.testbed not in {None, *runs_on}:
            message = f"'{included.testbed}' is not in 'runs-on': name the 'workload', too"
            yield Problem(place=(*where, "include", index), message=message)
    if not matrix.combinations(runs_on):
        yield Problem(place=(*where, "exclude"), message="leaves nothing to measure")
