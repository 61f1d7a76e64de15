"""The values of a suite, by their names: of each tool, and of text that means harm."""

import json
import math
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildbot_bench.archives.series_formats import Document, readings_of
from buildbot_bench.archives.suites import SUITES, values_in
from buildbot_bench.core.metric import Metric

DATA = Path(__file__).parents[1] / "data" / "command"
GO = """\
goos: linux
pkg: example.org/sum
BenchmarkSum-2   	  101019	      2065 ns/op	      16 B/op	       1 allocs/op
BenchmarkSum-2   	  101019	      2075 ns/op	      16 B/op	       1 allocs/op
BenchmarkCopy/1k-2 	  5000	  1e+03 ns/op	 976.56 MB/s
PASS
pkg: example.org/other
BenchmarkCopy/1k-2 	  5000	  4.5 ns/op
"""


def time(name: str, unit: str = "ns") -> Metric:
    return Metric(name=name, unit=unit, higher_is_better=False)


def google(*entries: dict[str, object], executable: str = "./b") -> str:
    return json.dumps({"context": {"executable": executable}, "benchmarks": entries})


def entry(name: str, value: object, **more: object) -> dict[str, object]:
    return {"name": name, "run_name": name, "run_type": "iteration", "real_time": value} | more


PRINTED = {
    "google-benchmark": (
        (DATA / "google-benchmark-1.7.1.json").read_text(),
        {time("BM_sum"): pytest.approx(521.58780403)},
    ),
    "pytest-benchmark": (
        (DATA / "pytest-benchmark-5.3.1.json").read_text(),
        {time("test_b.py::test_sum", "s"): pytest.approx(1.2e-5, rel=1)},
    ),
    "hyperfine": (
        (DATA / "hyperfine-1.15.0.json").read_text(),
        {time("sleep 0.02", "s"): pytest.approx(0.02064949852)},
    ),
    "jmh": (
        "# JMH version: 1.37\n" + (DATA / "jmh.json").read_text(),
        {
            Metric(name="org.example.Sum.plain (size=1024), ops/ms", unit="ops/ms"): 2512.75,
            time("org.example.Sum.plain (size=1024), us/op", "us/op"): 0.398,
            time("org.example.Sum.odd", "us/op"): pytest.approx(math.nan, nan_ok=True),
        },
    ),
    "criterion": (
        (DATA / "criterion.jsonl").read_text(),
        {time("sum/1024"): 205.1, time("sum/4096"): 825.0},
    ),
    "go-bench": (
        GO,
        {
            time("BenchmarkSum-2", "ns/op"): 2070.0,
            time("BenchmarkCopy/1k-2, example.org/sum, ns/op", "ns/op"): 1000.0,
            time("BenchmarkCopy/1k-2, example.org/other, ns/op", "ns/op"): 4.5,
        },
    ),
}


@pytest.mark.parametrize("tool", SUITES)
def test_all_values_of_a_tool_have_their_names(tool: str) -> None:
    text, expected = PRINTED[tool]
    assert values_in(text) == (expected, (tool,))
    assert values_in(f"log {{\n[INFO] more\n{text}", tool) == (expected, (tool,))
    others = [other for other in SUITES if other != tool]
    assert all(values_in(text, other) == ({}, ()) for other in others)


def test_what_a_run_prints_several_times_is_one_value() -> None:
    text = google(
        entry("BM_a", 3.0),
        entry("BM_a", 1.0, time_unit="us"),
        entry("BM_a", 8.0),
        entry("BM_bad", 1.0),
        entry("BM_bad", 2.0, error_occurred=True),
        entry("BM_told", 9.0, run_type="aggregate", aggregate_name="median"),
        entry("BM_told", 1.0, run_type="aggregate", aggregate_name="stddev"),
        entry("BM_a", 7.0, run_type="aggregate", aggregate_name="median"),
    )
    found, _ = values_in(text)
    assert math.isnan(found.pop(time("BM_bad")))
    assert found == {time("BM_a"): 8.0, time("BM_told"): 9.0}
    two = google(entry("BM_a", 5.0), executable="./c")
    assert [metric.name for metric in values_in(text + "\n" + two)[0]][::3] == [
        "BM_a, ./b, ns",
        "BM_a, ./c, ns",
    ]


@given(st.dictionaries(st.text(min_size=1), st.lists(st.floats(1, 9), min_size=1), min_size=1))
@settings(max_examples=40, deadline=None)
def test_every_name_is_a_short_visible_line_of_its_own(values: dict[str, list[float]]) -> None:
    rows = [entry(name, value) for name, own in values.items() for value in own]
    found, _ = values_in(google(*rows))
    for metric in found:
        assert 0 < len(metric.name) <= 100
        assert metric.name.isprintable()
    apart = {" ".join(name.split()) for name in values}
    assert len({metric.name for metric in found}) == len(found) == len(apart)
    if len(apart) == len(values):
        assert list(found.values()) == [median(own) for own in values.values()]


def test_names_that_are_too_long_stay_apart() -> None:
    long = ["x" * 200 + end for end in "ab"]
    first, second = values_in(google(*(entry(name, 1.0) for name in long)))[0]
    assert first.name != second.name
    assert {len(first.name), len(second.name)} == {100}


@pytest.mark.parametrize("text", ["", "[]", "{}", "[[[", '{"results": {}}', '{"results": [1]}'])
def test_what_no_tool_prints_has_no_values(text: str) -> None:
    assert values_in(text) == ({}, ())


def test_a_judge_reads_the_same_files() -> None:
    for tool in ("hyperfine", "jmh", "criterion"):
        text, expected = PRINTED[tool]
        read = readings_of(Document(name="f", text=text.removeprefix("# JMH version: 1.37\n")))
        values = [value for metric, value in expected.items() if "odd" not in metric.name]
        assert [one.value for one in read] == values
