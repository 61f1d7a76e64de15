"""The named values that one run of a benchmark suite prints, by the shape of what is printed."""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from buildbot_bench.core.legible import one_line
from buildbot_bench.core.metric import Metric

Object = Mapping[str, Any]
NANOSECONDS: Mapping[str, float] = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
"""What google-benchmark's units of time are."""

_MOST_STARTS = 100  # lines at which JSON may begin, and does not
_MOST_COLUMNS, _CUT_COLUMNS = 100, 92  # of a name; of one that is marked as changed
_AGGREGATE = re.compile(r"_(mean|median|stddev|cv|BigO|RMS)$")
_GO = re.compile(
    r"^(?:pkg:[ \t]+(\S+)|(Benchmark\S*)[ \t]+\d+[ \t](?:.*[ \t])?(\S+) ns/op\b.*)$", re.MULTILINE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteValue:
    """One value as a tool prints it; `value` may be anything, `place` tells equal names apart."""

    name: str
    value: Any
    unit: str
    higher_is_better: bool = False
    place: str = ""


def values_in(text: str, tool: str = "") -> tuple[dict[Metric, float], tuple[str, ...]]:
    """Return the values that a text has, in its order, and the tools that print such; or of one.

    A name that is there more than once has the median of its values, and NaN where one of them is
    no number. Each metric has a name of its own.
    """
    found: dict[SuiteValue, list[Any]] = {}
    tools: dict[str, None] = {}
    for named, one in _values(text):
        if tool in {"", named}:
            tools[named] = None
            found.setdefault(_key(one), []).append(one.value)
    often = Counter(one.name for one in found)
    values: dict[Metric, float] = {}
    for one, printed in found.items():
        apart = (one.place, one.unit) if often[one.name] > 1 else ()
        name = _clean(", ".join(filter(None, (one.name, *apart))))
        metric = Metric(name=name, unit=one.unit, higher_is_better=one.higher_is_better)
        numbers = [as_number(each) for each in printed]
        values[metric] = median(math.nan if each is None else each for each in numbers)
    return values, tuple(tools)


def _key(one: SuiteValue) -> SuiteValue:
    return SuiteValue(
        name=" ".join(one.name.split()) or "(no name)",
        value=None,
        unit=one_line(one.unit, columns=40),
        higher_is_better=one.higher_is_better,
        place=one.place,
    )


def _clean(name: str) -> str:
    """Return a name as one visible line; one that had to be changed has a mark of its own."""
    line = one_line(name, columns=_MOST_COLUMNS)
    if line == name:
        return line
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{one_line(name, columns=_CUT_COLUMNS)} #{mark}"


def _values(text: str) -> Iterator[tuple[str, SuiteValue]]:
    place = ""
    for match in _GO.finditer(text):
        place = match[1] or place
        if match[2]:
            yield "go-bench", SuiteValue(name=match[2], value=match[3], unit="ns/op", place=place)
    for document in json_in(text):
        yield from suite_values(document)


def suite_values(document: Any) -> Iterator[tuple[str, SuiteValue]]:
    """Return the values of a JSON document with the tool that writes such; none of another."""
    for tool, (is_of_it, reader) in _TOOLS.items():
        if is_of_it(document):
            yield from ((tool, one) for one in reader(document))
            return


def json_in(text: str) -> Iterator[Any]:
    """Return each JSON document that begins with a line of a text, in their order."""
    decoder = json.JSONDecoder()
    end = failed = 0
    for match in re.finditer(r"^[ \t]*(?=[{\[])", text, re.MULTILINE):
        if match.end() < end:
            continue
        try:
            document, end = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            failed += 1
            if failed == _MOST_STARTS:
                return
            continue
        yield document


def google_times(whole: Object) -> Iterator[tuple[str, str, Object]]:
    """Return name, unit and entry of each repetition that google-benchmark reports.

    Where it reports aggregates alone, the median stands for the repetitions.
    """
    entries: list[tuple[str, str, Object]] = []
    for bench in objects(whole["benchmarks"]):
        name = str(bench.get("run_name") or bench.get("name"))
        kind = bench.get("run_type") or ("aggregate" if _AGGREGATE.search(name) else "iteration")
        entries.append((name, str(bench.get("aggregate_name") or kind), bench))
    repeated = {name for name, kind, _ in entries if kind == "iteration"}
    for name, kind, bench in entries:
        if kind == "iteration" or (kind == "median" and name not in repeated):
            yield name, str(bench.get("time_unit") or "ns"), bench


def _google(whole: Object) -> Iterator[SuiteValue]:
    place = str(at(whole, "context", "executable") or "")
    for name, unit, bench in google_times(whole):
        time = None if bench.get("error_occurred") else as_number(bench.get("real_time"))
        value = None if time is None or unit not in NANOSECONDS else time * NANOSECONDS[unit]
        yield SuiteValue(name=name, value=value, unit="ns", place=place)


def pytest_times(whole: Object) -> Iterator[SuiteValue]:
    """Return the medians that pytest-benchmark reports."""
    for bench in objects(whole["benchmarks"]):
        name = str(bench.get("fullname") or bench.get("name"))
        yield SuiteValue(name=name, value=at(bench, "stats", "median"), unit="s")


def _hyperfine(whole: Object) -> Iterator[SuiteValue]:
    for one in objects(whole["results"]):
        yield SuiteValue(name=str(one.get("command")), value=one.get("mean"), unit="s")


def _jmh(whole: Any) -> Iterator[SuiteValue]:
    for one in objects(whole):
        parameters = one.get("params")
        given = parameters if isinstance(parameters, Mapping) else {}
        told = ", ".join(f"{name}={value}" for name, value in given.items())
        yield SuiteValue(
            name=f"{one.get('benchmark')} ({told})" if told else str(one.get("benchmark")),
            value=at(one, "primaryMetric", "score"),
            unit=str(at(one, "primaryMetric", "scoreUnit") or "ops/s"),
            higher_is_better=one.get("mode") == "thrpt",
        )


def _criterion(message: Object) -> Iterator[SuiteValue]:
    unit = str(at(message, "typical", "unit") or "ns")
    value = at(message, "typical", "estimate")
    yield SuiteValue(name=str(message.get("id")), value=value, unit=unit)


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda whole: isinstance(whole, Mapping) and set(keys) <= whole.keys()


def _first_has(*keys: str) -> Callable[[Any], bool]:
    return lambda rows: isinstance(rows, list) and bool(rows) and _has(*keys)(rows[0])


_TOOLS: Mapping[str, tuple[Callable[[Any], bool], Callable[[Any], Iterator[SuiteValue]]]] = {
    "pytest-benchmark": (_has("commit_info", "benchmarks"), pytest_times),
    "google-benchmark": (_has("context", "benchmarks"), _google),
    "hyperfine": (
        lambda whole: _has("results")(whole) and _first_has("command", "mean")(whole["results"]),
        _hyperfine,
    ),
    "jmh": (_first_has("benchmark", "primaryMetric"), _jmh),
    "criterion": (_has("reason", "id", "typical"), _criterion),
}
SUITES = (*_TOOLS, "go-bench")
"""The tools whose values are known by name."""


def as_number(value: Any) -> float | None:
    """Return a finite number, or None for all else."""
    try:
        found = None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found is not None and math.isfinite(found) else None


def at(value: Any, *keys: str) -> Any:
    """Return what lies at a path of keys; None where one of them is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def objects(value: Any) -> Iterator[Object]:
    """Return the objects of a list."""
    return (
        (one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else iter(())
    )
