"""What a matrix measures where, by GitHub's rules for `include` and `exclude`."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.workflow.matrix import combinations
from tests.workflow.example import SMALLEST, Complaints, Loader


def test_githubs_own_example_of_include() -> None:
    """docs.github.com, "Running variations of jobs in a workflow", expanding a matrix."""
    found = combinations(
        {"fruit": ["apple", "pear"], "animal": ["cat", "dog"]},
        include=[
            {"color": "green"},
            {"color": "pink", "animal": "cat"},
            {"fruit": "apple", "shape": "circle"},
            {"fruit": "banana"},
            {"fruit": "banana", "animal": "cat"},
        ],
    )
    assert found == (
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    )


def test_githubs_own_example_of_exclude() -> None:
    """The same page, excluding from a matrix: of twelve jobs nine are left."""
    found = combinations(
        {
            "os": ["macos", "windows"],
            "version": ["12", "14", "16"],
            "environment": ["staging", "production"],
        },
        exclude=[
            {"os": "macos", "version": "12", "environment": "production"},
            {"os": "windows", "version": "16"},
        ],
    )
    assert len(found) == 9
    assert {"os": "windows", "version": "16", "environment": "staging"} not in found


def test_include_puts_back_what_exclude_took() -> None:
    axes = {"a": ["1", "2"]}
    found = combinations(axes, exclude=[{"a": "2"}], include=[{"a": "2", "more": "x"}])
    assert found == ({"a": "1"}, {"a": "2", "more": "x"})


def test_a_matrix_of_include_alone() -> None:
    assert combinations({}, include=[{"a": "1"}, {"a": "2"}]) == ({"a": "1"}, {"a": "2"})


KEYS, VALUES = ("a", "b", "c"), ("1", "2", "3")
AXES = st.dictionaries(
    st.sampled_from(KEYS[:2]), st.lists(st.sampled_from(VALUES), min_size=1, unique=True)
)
RULES = st.lists(
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), min_size=1), max_size=4
)


@given(AXES, RULES, RULES)
def test_what_holds_of_every_matrix(
    axes: dict[str, list[str]], include: list[dict[str, str]], exclude: list[dict[str, str]]
) -> None:
    found = combinations(axes, include=include, exclude=exclude)
    everything = [dict(zip(axes, one, strict=True)) for one in product(*axes.values()) if axes]
    kept = [one for one in everything if not any(has(one, rule) for rule in exclude)]
    originals = [{key: one[key] for key in axes} for one in found[: len(kept)]]
    assert originals == kept, "what stays keeps its original values, in order"
    assert all(one in include for one in found[len(kept) :]), "the others are rules, as they are"
    for rule in include:
        fits = [one for one in kept if has(one, {k: v for k, v in rule.items() if k in axes})]
        assert bool(fits) != (rule in found[len(kept) :])


def has(one: dict[str, Any], rule: dict[str, str]) -> bool:
    return rule.items() <= one.items()


def measured(read: Loader, matrix: str, runs_on: str = "[apu, xeon]") -> set[Any]:
    text = SMALLEST.replace("runs-on: embedded", f"runs-on: {runs_on}")
    workflow = read(text.replace("{workload: forwarding}", matrix))
    return {(x.testbed, x.workload, x.iterations) for x in all_series(workflow.bench_jobs)}


def test_a_workload_is_left_out_on_one_testbed(read: Loader) -> None:
    matrix = "{workload: [fwd, pf], exclude: [{testbed: apu, workload: pf}]}"
    assert measured(read, matrix) == {("apu", "fwd", 5), ("xeon", "fwd", 5), ("xeon", "pf", 5)}


def test_a_workload_is_added_on_a_testbed_of_its_own(read: Loader) -> None:
    matrix = "{workload: fwd, include: [{testbed: big, workload: nat, iterations: 9}]}"
    assert measured(read, matrix, "apu") == {("apu", "fwd", 5), ("big", "nat", 9)}


def test_iterations_differ_by_testbed_and_workload(read: Loader) -> None:
    rules = "[{iterations: 7}, {testbed: xeon, iterations: auto}, {workload: pf, iterations: 3}]"
    assert measured(read, f"{{workload: [fwd, pf], include: {rules}}}") == {
        ("apu", "fwd", 7),
        ("apu", "pf", 3),
        ("xeon", "fwd", None),
        ("xeon", "pf", 3),
    }


def test_what_is_left_out_moves_nothing_within_a_pool(read: Loader) -> None:
    """A workload stays at home where its history is."""
    testbeds = "testbeds: {a: {labels: box}, b: {labels: box}, c: {}}\n"
    text = SMALLEST.replace("runs-on: embedded", "runs-on: box") + testbeds
    whole = text.replace("{workload: forwarding}", "{workload: [x, y, z]}")
    less = text.replace("{workload: forwarding}", "{workload: [x, y, z], exclude: [{workload: x}]}")
    homes = [
        {s.workload: s.testbed for s in all_series(read(one).bench_jobs)} for one in (whole, less)
    ]
    assert homes[0] == {"x": "a", "y": "b", "z": "a"}
    assert homes[1] == {"y": "b", "z": "a"}


def test_a_testbed_that_only_include_names_is_one(read: Loader) -> None:
    matrix = "{workload: fwd, include: [{testbed: big, workload: nat}]}"
    workflow = read(SMALLEST.replace("{workload: forwarding}", matrix))
    assert [*workflow.testbeds] == ["embedded", "big"]
    assert workflow.workloads_on("big") == ("nat",)
    assert workflow.workloads_on("embedded") == ("fwd",)
    assert workflow.bench_jobs[0].testbeds == ("embedded", "big")


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ("exclude: [{workload: pv}]", "matrix.exclude[0].workload: excludes nothing: this matrix"),
        ("exclude: [{testbed: apu}]", "matrix.exclude[0].testbed: excludes nothing: this matrix"),
        ("exclude: [{}]", "matrix.exclude[0]: says nothing: name a 'workload', a 'testbed'"),
        ("exclude: [{workload: fwd}]", "matrix.exclude: leaves nothing to measure"),
        ("exclude: {workload: fwd}", "matrix.exclude: should be a list, not {'workload'"),
        ("include: [{workload: nat}]", "matrix.include[0]: 'nat' is new in this matrix: name"),
        ("include: [{testbed: big}]", "matrix.include[0]: 'big' is not in 'runs-on': name the"),
        ("include: [{iterations: 2}]", "matrix.include[0].iterations: should be a number from 3"),
        ("include: [{worklaod: x}]", "matrix.include[0].worklaod: unknown key; did you mean"),
    ],
)
def test_a_rule_that_cannot_be_meant(complaints: Complaints, matrix: str, complaint: str) -> None:
    text = SMALLEST.replace("{workload: forwarding}", f"{{workload: fwd, {matrix}}}")
    assert f"bench.yml:14: jobs.bench.strategy.{complaint}" in complaints(text)[0]


def test_an_included_testbed_must_be_described_when_any_is(complaints: Complaints) -> None:
    matrix = "{workload: fwd, include: [{testbed: embeded, workload: nat}]}"
    text = SMALLEST.replace("{workload: forwarding}", matrix) + "testbeds: {embedded: {}}\n"
    assert complaints(text) == [
        (
            "bench.yml:14: jobs.bench.strategy.matrix.include[0].testbed: 'testbeds' has no "
            "'embeded'; did you mean 'embedded'?"
        )
    ]


def test_one_workload_is_measured_once_on_a_testbed(complaints: Complaints, read: Loader) -> None:
    matrix = "{workload: fwd, include: [{testbed: one, workload: WHAT}]}"
    text = SMALLEST.replace("{workload: forwarding}", matrix).replace("embedded", "box")
    text += "testbeds: {one: {labels: box}, two: {labels: box}}\n"
    (line,) = complaints(text.replace("WHAT", "fwd"))
    assert line.endswith("include[0].testbed: 'box' and 'one' are both 'one'")
    assert read(text.replace("WHAT", "nat")).workloads_on("one") == ("fwd", "nat")


def test_a_matrix_of_thousands_is_refused(complaints: Complaints) -> None:
    names = ", ".join(f"n{i}" for i in range(40))
    text = SMALLEST.replace("runs-on: embedded", f"runs-on: [{names}]")
    (line,) = complaints(text.replace("{workload: forwarding}", f"{{workload: [{names}]}}"))
    assert line.endswith(
        "jobs.bench.strategy.matrix: has more than 1000 combinations: make several jobs of it"
    )
