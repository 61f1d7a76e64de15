"""Files, directories and standard input as series, oldest revision first."""

import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any

from buildbot_bench.archives.series_formats import Document, SeriesValue, readings_of, unknown
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.judge.recorded import Recorded, RecordedPoint
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import MIB, spoken
from buildbot_bench.core.metric import Metric, NoiseClass

_MOST_BYTES = 256 * MIB
"""Of all files together. Chosen, not measured: ten times as much memory should be at hand."""
_MOST_FILES = 50_000
"""Chosen: ten times django/django-asv, whose results are 4,679 files."""
_MOST_VALUES = 2_000_000
_SUFFIXES = {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".js", ".txt", ".lp"}
_STDIN = "-"

_TIMES = (
    r"ns|us|\u00b5s|\u03bcs|ms|s|secs?|seconds?|milliseconds?|microseconds?|nanoseconds?|minutes?"
)
_SIZES = r"b|[kmg]i?b|bytes?|kilobytes?|megabytes?|gigabytes?"
_LESS = re.compile(rf"(?:{_TIMES}|{_SIZES}|instructions?|cycles|allocs?)(?:/(?:op|iter|call))?")
_MORE = re.compile(r"/ ?(?:s|sec|second)$|per[ _]sec|ops|[fqrp]ps|hz$|throughput|bandwidth")
_LESS_NAMED = re.compile(
    r"time|latency|duration|seconds|memory|bytes|size|instructions|cycles|misses|alloc|_[mun]?s$"
)
_COUNTED = re.compile(r"instruction|bytes|size")


def read_series(paths: Sequence[str], wanted: Sequence[str], better: bool | None) -> list[Recorded]:
    """The series of all of these, in the order in which they come first.

    `wanted` are patterns of their names, all where there is none. `better` is whether higher values
    are, None where the format, the unit or the name is to say. Raises UsageError.
    """
    found: dict[str, list[SeriesValue]] = {}
    for number, reading in enumerate(_readings(paths or [_STDIN])):
        if number >= _MOST_VALUES:
            raise UsageError(
                f"there are more than {_MOST_VALUES:,} values", hint="name fewer files"
            )
        found.setdefault(reading.series, []).append(reading)
    chosen = [
        name
        for name in found
        if not wanted or any(pattern in name or fnmatchcase(name, pattern) for pattern in wanted)
    ]
    if not chosen:
        names = ", ".join(quoted(name) for name in list(found)[:5]) or "none"
        raise UsageError(
            "no series is named so" if found else "there is no value", hint=f"found: {names}"
        )
    return [_series(name, found[name], better) for name in chosen]


def _series(name: str, readings: Sequence[SeriesValue], better: bool | None) -> Recorded:
    if all(one.at_s is not None for one in readings):
        readings = sorted(readings, key=lambda one: one.at_s or 0.0)
    values: dict[str, list[float]] = {}
    for one in readings:
        values.setdefault(one.revision, []).append(one.value)
    points = tuple(RecordedPoint(label=label, values=tuple(its)) for label, its in values.items())
    told, unit = readings[-1].higher_is_better, readings[-1].unit
    told = _is_higher_better(name, unit) if told is None else told
    metric = Metric(
        name=name,
        unit=unit,
        higher_is_better=told if better is None else better,
        noise=_noise_of(f"{name} {unit}", points),
    )
    return Recorded(name=name, metric=metric, points=points)


def _is_higher_better(name: str, unit: str) -> bool:
    """What a unit says, else what a name says, else that more is."""
    unit, name = unit.lower(), name.lower()
    if _LESS.fullmatch(unit):
        return False
    return bool(_MORE.search(unit) or _MORE.search(name) or not _LESS_NAMED.search(name))


def _noise_of(words: str, points: Sequence[RecordedPoint]) -> NoiseClass:
    """Counted is what is called so and mostly repeats from one revision to the next."""
    pairs = list(pairwise(points))
    repeats = sum(old.values[0] == new.values[0] for old, new in pairs)
    is_counted = _COUNTED.search(words.lower()) and 2 * repeats > len(pairs)
    return NoiseClass.EXACT if is_counted else NoiseClass.SAMPLED


def _readings(paths: Sequence[str]) -> Iterator[SeriesValue]:
    left = _MOST_BYTES
    for path in paths:
        is_directory = path != _STDIN and Path(path).is_dir()
        asv: Any = _described(Path(path)) if is_directory else None
        known = 0
        for place in _files(Path(path)) if is_directory else [path]:
            text = _text(str(place), left)
            left -= len(text)
            document = _document(str(place), path, text)
            try:
                for reading in readings_of(document, asv):
                    known += 1
                    yield reading
            except UsageError:
                if not is_directory or Path(place).suffix in {".json", ".csv", ".jsonl"}:
                    raise
        if is_directory and not known:
            raise unknown(Document(name=f"{path}/", text=""))


def _document(place: str, root: str, text: str) -> Document:
    if place == _STDIN:
        return Document(name="standard input", text=text, stem="1")
    beside = os.path.relpath(Path(place).parent, root) if Path(root).is_dir() else ""
    return Document(
        name=place, text=text, stem=Path(place).stem, place="" if beside == "." else beside
    )


def _files(directory: Path) -> Iterable[Path]:
    """The files below a directory in the order of their names; links are not followed."""
    found: list[Path] = []
    for top, _, names in os.walk(directory):
        found += [
            Path(top, name)
            for name in names
            if Path(name).suffix in _SUFFIXES and not name.startswith(".") and name != _DESCRIBED
        ]
        if len(found) > _MOST_FILES:
            raise UsageError(f"{directory} has more than {_MOST_FILES:,} files", hint="name some")
    return sorted(path for path in found if stat.S_ISREG(path.lstat().st_mode))


_DESCRIBED = "benchmarks.json"


def _described(directory: Path) -> Any:
    """What asv keeps of its benchmarks: in the results' own directory, or that of one machine."""
    for path in (directory / _DESCRIBED, directory.parent / _DESCRIBED):
        if path.is_file():
            try:
                read = json.loads(_text(str(path), _MOST_BYTES))
            except (ValueError, RecursionError) as error:
                raise UsageError(f"{path} is no JSON", hint="see whether it is whole") from error
            return read if isinstance(read, Mapping) else None
    return None


def _text(path: str, most: int) -> str:
    try:
        if path == _STDIN:
            raw = sys.stdin.buffer.read(most + 1)
        else:
            with Path(path).open("rb") as file:
                raw = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="name a file") from error
    if len(raw) > most:
        raise UsageError(
            f"{path}: more than {spoken(_MOST_BYTES)} in all", hint="name fewer or smaller files"
        )
    return raw.decode("utf-8", "replace")
