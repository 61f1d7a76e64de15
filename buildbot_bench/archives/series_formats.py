"""The formats in which others keep their series of measurements, read from their texts."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from statistics import median
from typing import Any

from buildbot_bench.archives.suites import (
    Object,
    as_number,
    at,
    google_times,
    objects,
    pytest_times,
    suite_values,
)
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A file's text; `name` is how complaints call it, `stem` and `place` are of its path."""

    name: str
    text: str
    stem: str = ""
    place: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesValue:
    """A value of a series at a revision; `at_s` orders revisions where all of them have it.

    `higher_is_better` is None where the format does not say.
    """

    series: str
    revision: str
    value: float
    unit: str = ""
    at_s: float | None = None
    higher_is_better: bool | None = None


Readings = Iterable[SeriesValue]
# How tables and tags call these; the first that is there counts.
_REVISION = ("commit", "revision", "rev", "sha", "hash", "git_commit", "commit_hash", "version")
_SERIES = ("series", "benchmark", "name", "metric", "test")
_TIME = ("time", "date", "timestamp", "datetime")
_VALUE, _UNIT = ("value", "values"), "unit"


def readings_of(document: Document, asv: Object | None = None) -> Readings:
    """All values of a file; `asv` are the benchmarks that asv's directory describes."""
    text = document.text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE} \t\r\n")
    if match := re.match(r"window\.BENCHMARK_DATA\s*=\s*", text):
        return _data_js(_object(document, text[match.end() :].rstrip().removesuffix(";")))
    if text.startswith(("{", "[")):
        return _of_json(document, _json(document, text), asv)
    first = next((line for line in text.splitlines() if line and not line.startswith("#")), "")
    if _LINE.fullmatch(first):
        return _line_protocol(document, text)
    return _csv(document, text)


def _of_json(document: Document, whole: Any, asv: Object | None) -> Readings:
    for keys, reader in _KINDS:
        if isinstance(whole, Mapping) and keys <= whole.keys():
            return reader(document, whole, asv)
    suite = _suite(document, whole)
    if suite:
        return suite
    if isinstance(whole, Mapping) and set(whole) >= {"machine", "version"}:
        return ()  # asv's machine.json
    if isinstance(whole, list):
        return _table(document, whole)
    if isinstance(whole, Mapping) and _is_bmf(whole):
        return _bmf(document, whole)
    raise unknown(document)


def _suite(document: Document, whole: Any) -> list[SeriesValue]:
    """One run of another suite, or the messages of one; its file is named after the revision."""
    found = list(suite_values(whole))
    if not found and isinstance(whole, list):
        found = [one for message in whole for one in suite_values(message)]
    return [
        reading
        for _, one in found
        for reading in _reading(
            one.name, document.stem, one.value, unit=one.unit, better=one.higher_is_better
        )
    ]


def unknown(document: Document) -> UsageError:
    """The complaint about a file of no known format."""
    return UsageError(
        f"{document.name}: its format is not known",
        hint="write it as CSV with the columns commit and value, oldest first",
    )


def _json(document: Document, text: str) -> Any:
    """The JSON of a whole text, else the objects of its lines."""
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
        lines = [line for line in text.splitlines() if line.strip()]
        return [_line_of_json(document, number, line) for number, line in enumerate(lines, 1)]
    except (ValueError, RecursionError) as error:
        told = one_line(str(error))
        raise UsageError(
            f"{document.name} is no JSON: {told}", hint="see whether it is whole"
        ) from error


def _line_of_json(document: Document, number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{document.name}: line {number} is no JSON: {one_line(str(error))}",
            hint="write one object a line",
        ) from error


def _object(document: Document, text: str) -> Object:
    whole = _json(document, text)
    if not isinstance(whole, Mapping):
        raise unknown(document)
    return whole


def _data_js(whole: Object) -> Readings:
    """github-action-benchmark's: its newest run comes last."""
    for suite, runs in _items(whole.get("entries")):
        for run in objects(runs):
            tool = str(run.get("tool"))
            better = {"customBiggerIsBetter": True, "customSmallerIsBetter": False}.get(tool)
            revision = str(at(run, "commit", "id") or run.get("date") or "")
            for bench in objects(run.get("benches")):
                yield from _reading(
                    f"{suite}: {bench.get('name')}",
                    revision,
                    bench.get("value"),
                    unit=str(bench.get("unit") or ""),
                    better=better,
                )


def _asv(document: Document, whole: Object, asv: Object | None) -> Readings:
    """A result file of asv: a commit on a machine in an environment, each result a list."""
    columns = whole.get("result_columns")
    where = f"{at(whole, 'params', 'machine') or document.place}, {whole.get('env_name') or ''}"
    at_s = as_number(whole.get("date"))
    for name, raw in _items(whole.get("results")):
        told = at(asv or {}, name)
        told = told if isinstance(told, Mapping) else {}
        row = dict(zip(columns, raw, strict=False)) if isinstance(raw, list) and columns else raw
        row = row if isinstance(row, Mapping) else {"result": raw}
        versions = {row.get("version"), told.get("version")} - {None}
        if len(versions) > 1:
            continue  # asv counts another version of a benchmark as another benchmark
        results = row.get("result")
        results = results if isinstance(results, list) else [results]
        parameters = row.get("params") or told.get("params") or []
        names = product(*parameters) if all(isinstance(one, list) for one in parameters) else ()
        for value, given in zip(results, list(names) or [()], strict=False):
            called = f"{name}({', '.join(map(str, given))})" if given else name
            yield from _reading(
                f"{called} [{where.rstrip(', ')}]",
                str(whole["commit_hash"]),
                value,
                unit=str(told.get("unit") or ("seconds" if "time_" in name else "")),
                at_s=at_s,
                better=None if str(name).rpartition(".")[2].startswith("track_") else False,
            )


def _pytest_benchmark(document: Document, whole: Object, _asv: Object | None) -> Readings:
    """A run that pytest-benchmark stored, in seconds."""
    commit = whole["commit_info"] if isinstance(whole["commit_info"], Mapping) else {}
    at_s = _time(commit.get("time")) or _time(whole.get("datetime"))
    for one in pytest_times(whole):
        named = f"{one.name} [{document.place}]" if document.place else one.name
        revision = str(commit.get("id") or document.stem)
        yield from _reading(named, revision, one.value, unit="s", at_s=at_s, better=False)


def _google_benchmark(document: Document, whole: Object, _asv: Object | None) -> Readings:
    """A run of google-benchmark: its repetitions ran in one process."""
    context = whole["context"] if isinstance(whole["context"], Mapping) else {}
    revision = _first(context, _REVISION) or document.stem
    at_s = _time(context.get("date"))
    found: dict[tuple[str, str], list[float]] = {}
    for name, unit, bench in google_times(whole):
        for clock in ("real_time", "cpu_time"):
            value = as_number(bench.get(clock))
            if value is not None and not bench.get("error_occurred"):
                found.setdefault((f"{name} {clock}", unit), []).append(value)
    for (series, unit), values in found.items():
        yield from _reading(
            series, str(revision), median(values), unit=unit, at_s=at_s, better=False
        )


def _bencher(_document: Document, whole: Object, _asv: Object | None) -> Readings:
    """What Bencher's `perf` query answers: a line of its plot for each of the results."""
    for line in objects(whole["results"]):
        names = [at(line, one, "name") for one in ("benchmark", "measure", "testbed", "branch")]
        for metric in objects(line.get("metrics")):
            number = as_number(at(metric, "version", "number"))
            yield from _reading(
                ", ".join(str(name) for name in names if name),
                str(at(metric, "version", "hash") or number or metric.get("start_time")),
                at(metric, "metric", "value"),
                unit=str(at(line, "measure", "units") or ""),
                at_s=_time(metric.get("start_time")) if number is None else number,
            )


def _is_bmf(whole: Object) -> bool:
    measures = [one for bench in whole.values() for one in _values(bench)]
    return bool(measures) and all(at(one, "value") is not None for one in measures)


def _bmf(document: Document, whole: Object) -> Readings:
    """One run in Bencher's metric format; its file is named after the revision."""
    for name, measures in whole.items():
        for measure, metric in _items(measures):
            unit = {"latency": "ns", "throughput": "operations/s"}.get(measure, "")
            yield from _reading(f"{name}, {measure}", document.stem, at(metric, "value"), unit=unit)


_WORD = r"(?:\\.|[^\\,= \n])+"
_FIELD = rf'({_WORD})=("(?:\\.|[^"\\])*"|[^", ]+)'
_LINE = re.compile(rf"({_WORD})((?:,{_WORD}={_WORD})*) ({_FIELD}(?:,{_FIELD})*)(?: (-?\d+))?\s*")
_ESCAPED = re.compile(r"\\([,= \"\\])")


def _line_protocol(document: Document, text: str) -> Readings:
    """InfluxDB's: a tag or field that names a commit is the revision, else the time is."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not (match := _LINE.fullmatch(line)):
            raise UsageError(
                f"{document.name}: line {number} is no line protocol",
                hint="write it as: measurement,tag=x field=1.5 1465839830100400200",
            )
        tags, fields = (dict(_pairs(match[part])) for part in (2, 3))
        revision = _first(tags | fields, _REVISION)
        others = [f"{k}={v}" for k, v in sorted(tags.items()) if k.lower() not in _REVISION]
        stamp = match[8]
        for field, value in fields.items():
            if field.lower() in _REVISION or value.startswith('"'):
                continue
            yield from _reading(
                " ".join((_unescaped(match[1]), *others, field)),
                revision or stamp or str(number),
                value[:-1] if value[-1] in "iu" else value,
                at_s=as_number(stamp),
            )


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(_FIELD, text):
        yield _unescaped(match[1]), _unescaped(match[2])


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _csv(document: Document, text: str) -> Readings:
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    except csv.Error as error:
        raise UsageError(f"{document.name} is no CSV: {error}") from error
    rows = [row for row in rows if row and not row[0].startswith("#")]
    if not rows:
        return ()
    if all(as_number(cell) is not None for cell in rows[0]):
        width = len(rows[0])
        head = ["value"] if width == 1 else [f"column {n}" for n in range(1, width + 1)]
    else:
        head, rows = [cell.strip() for cell in rows[0]], rows[1:]
    found = list(_table(document, [dict(zip(head, row, strict=False)) for row in rows]))
    if rows and not found:
        raise unknown(document)
    return found


def _table(document: Document, rows: Iterable[Any]) -> Readings:
    """Rows with names: a value a row, or each further number a series of its own; oldest first."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UsageError(
                f"{document.name}: row {number} is no object", hint="write one object a row"
            )
        known = {str(key).lower(): value for key, value in row.items()}
        revision = str(_first(known, _REVISION) or _first(known, _TIME) or number)
        name = str(_first(known, _SERIES) or "")
        value, unit = _first(known, _VALUE), str(known.get(_UNIT) or "")
        if value is not None:
            for one in value if isinstance(value, list) else [value]:
                yield from _reading(name or "value", revision, one, unit=unit)
            continue
        for key, one in row.items():
            if str(key).lower() not in {*_REVISION, *_SERIES, *_TIME, _UNIT}:
                called = f"{name} {key}" if name else str(key)
                yield from _reading(called, revision, one, unit=unit)


def _reading(
    series: str,
    revision: str,
    value: Any,
    *,
    unit: str = "",
    at_s: float | None = None,
    better: bool | None = None,
) -> Iterator[SeriesValue]:
    """The reading of a value that is one; none of what is empty or was not measured."""
    if (number := as_number(value)) is not None:
        yield SeriesValue(
            series=one_line(series),
            revision=one_line(revision),
            value=number,
            unit=one_line(unit, columns=40),
            at_s=at_s,
            higher_is_better=better,
        )


def _time(text: Any) -> float | None:
    """ISO 8601, of UTC where it does not say; as seconds."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _first(row: Object, names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, Mapping) else ()


def _values(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else (None,)


# The keys by which a JSON object is known.
_KINDS: tuple[tuple[set[str], Callable[[Document, Object, Object | None], Readings]], ...] = (
    ({"commit_hash", "results"}, _asv),
    ({"commit_info", "benchmarks"}, _pytest_benchmark),
    ({"context", "benchmarks"}, _google_benchmark),
    ({"project", "results"}, _bencher),
    ({"entries", "lastUpdate"}, lambda _document, whole, _asv: _data_js(whole)),
)
