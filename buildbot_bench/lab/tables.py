"""Frozen dataclasses made from TOML tables, key by key.

Keys are field names, spelled with hyphens or underscores; tables may lie within tables. A union of
dataclasses is separated by the key `driver` (the dataclass's `DRIVER`), a union of text, list and
table by type. Relative paths and programs with a slash in their name lie beside the file.
"""

from __future__ import annotations

import difflib
import os
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, NewType, TypeVar

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

# A program of the lab controller, and a command of it: only the first word is a program's name.
Program = NewType("Program", str)
LocalCommand = tuple[Program, ...]

_Table = TypeVar("_Table")
_KINDS = {
    str: "text",
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    Path: "a path",
    Program: "a program",
}
# What the kinds of a union are in TOML.
_FORMS: dict[type[Any], str] = {**_KINDS, list: "a list", dict: "a table"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TablePlace:
    """Where in a file a value stands: `path` of the file, and the keys that lead to it."""

    path: Path
    keys: str

    def __str__(self) -> str:
        return f"{self.path}: {self.keys}"

    def __truediv__(self, key: object) -> TablePlace:
        return TablePlace(path=self.path, keys=f"{self.keys}.{key}" if self.keys else str(key))


def fill(kind: type[_Table], table: Mapping[str, Any], place: TablePlace) -> _Table:
    """The dataclass that a table describes."""
    hints = typing.get_type_hints(kind)
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    check_keys(table, known, place)
    sources = [(table, place), *_beside(kind, table, place)]
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        stated = [
            (value, where / key)
            for source, where in sources
            for key, value in source.items()
            if field_of(key) == field.name
        ]
        if stated:
            values[field.name] = _value(hints[field.name], *stated[0])
        elif field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{place / field.name} is missing")
    try:
        return kind(**values)
    except UsageError as error:  # what a dataclass itself cannot accept
        raise UsageError(f"{place}: {error.message}", hint=error.hint) from error


def _beside(
    kind: type[Any], table: Mapping[str, Any], place: TablePlace
) -> list[tuple[Mapping[str, Any], TablePlace]]:
    """What a file in a directory that a table names says for it; the table's own keys go first.

    A dataclass says by FILE_IN which of its keys names a directory, and the file's name.
    """
    key, name = getattr(kind, "FILE_IN", ("", ""))
    if not key or not isinstance(table.get(key), str):
        return []
    path = (place.path.parent / table[key]).resolve() / name
    if not path.is_file():
        return []
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}", hint=f"fix it; {place} names its directory") from error
    others = [field.name for field in fields(kind) if field.name != key]
    check_keys(document, others, path)
    return [(document, TablePlace(path=path, keys=""))]


def check_keys(table: Mapping[str, Any], known: Iterable[str], place: TablePlace | Path) -> None:
    """See that each key is a field's name, with hyphens or underscores, and there once."""
    names = list(known)
    found = set()
    for key in table:
        name = field_of(key)
        refuse_unknown([name if name in names else key], names, place)
        if name in found:
            raise UsageError(f"{place}: {quoted(key)} is there twice", hint="remove one of them")
        found.add(name)


def field_of(key: str) -> str:
    """The field that a key stands for: `higher-is-better` is `higher_is_better`."""
    return key.replace("-", "_")


def refuse_unknown(table: Iterable[str], known: Iterable[str], place: TablePlace | Path) -> None:
    """See that all keys are known."""
    names = list(known)
    for key in table:
        if key not in names:
            raise UsageError(f"{place}: unknown key {quoted(key)}", hint=nearest(key, names))


def nearest(word: Any, known: Iterable[str]) -> str:
    """A hint: the known word that is most like the one that was written."""
    names = sorted(known)
    if close := difflib.get_close_matches(str(word), names, n=1):
        return f"did you mean {quoted(close[0])}?"
    return f"there is {', '.join(names) or 'none'}"


def _value(kind: Any, value: Any, place: TablePlace) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _variant([a for a in arguments if a is not types.NoneType], value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise UsageError(f"{place}: {quoted(value)} is not a list", hint='write ["…", "…"]')
        kinds = [str if n and kind == LocalCommand else arguments[0] for n in range(len(value))]
        return tuple(_value(kinds[n], item, place / n) for n, item in enumerate(value))
    if origin is dict:
        return {name: _value(arguments[1], v, place / name) for name, v in _table(value, place)}
    if is_dataclass(kind):
        return fill(typing.cast("type[Any]", kind), dict(_table(value, place)), place)
    return _scalar(kind, value, place)


def _variant(kinds: list[Any], value: Any, place: TablePlace) -> Any:
    """One of several tables, which `driver` tells apart, or the kind that is written."""
    if len(kinds) > 1 and not all(is_dataclass(kind) for kind in kinds):
        kinds = [_written(kinds, value, place)]
    if len(kinds) == 1:
        return _value(kinds[0], value, place)
    by_driver = {kind.DRIVER: kind for kind in kinds}
    table = dict(_table(value, place))
    driver = table.pop("driver", "")
    if driver not in by_driver:
        raise UsageError(
            f"{place}.driver: {quoted(driver)} is no driver", hint=nearest(driver, by_driver)
        )
    return fill(by_driver[driver], table, place)


def _written(kinds: list[Any], value: Any, place: TablePlace) -> Any:
    """The one of several kinds that a value is of: text, a list, a table."""
    by_type: dict[type[Any], Any] = {}
    for kind in kinds:
        by_type[_toml_type(kind)] = kind
    if type(value) not in by_type:
        names = [_FORMS.get(written, "another value") for written in by_type]
        raise UsageError(f"{place}: {quoted(value)} is not {' or '.join(names)}")
    return by_type[type(value)]


def _toml_type(kind: Any) -> type[Any]:
    if is_dataclass(kind):
        return dict
    if typing.get_origin(kind) is tuple:
        return list
    return typing.cast("type[Any]", kind)


def _scalar(kind: Any, value: Any, place: TablePlace) -> Any:
    wanted = {float: (int, float), Path: (str,), Program: (str,)}.get(kind, (kind,))
    if (isinstance(value, bool) and kind is not bool) or not isinstance(value, wanted):
        raise UsageError(f"{place}: {quoted(value)} is not {_KINDS[kind]}")
    if isinstance(value, int | float) and value < 0:
        raise UsageError(f"{place}: {quoted(value)} is negative")
    if kind is Path:
        return (place.path.parent / value).resolve()
    if kind is Program and os.sep in value:
        # Not resolved: a program may go by the name of a symbolic link.
        return os.path.normpath(place.path.absolute().parent / value)
    return kind(value)


def _table(value: Any, place: TablePlace) -> Iterable[tuple[str, Any]]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: {quoted(value)} is not a table", hint=f"write [{place.keys}]")
    return value.items()
