"""The tables of testbeds.toml: frozen dataclasses, made key by key, and the testbeds of a lab.

Keys are field names, spelled with hyphens or underscores; tables may lie within tables. A union of
dataclasses is separated by the key `driver` (the dataclass's `DRIVER`), a union of text, list and
table by type. Relative paths and programs with a slash in their name lie beside the file.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, NewType, TypeVar

from buildbot_bench import installed
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.driver import Driver, DriverKind, unheard

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


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Common:
    """What every testbed says, of any kind.

    `epoch` is a label that a person changes when the lab itself changes. `wait_s` is how long a
    job waits for another one to leave the testbed. A kernel that fails `kernel_faults` times in a
    row is untestable; a lab that fails `lab_faults` times in one job is ill.
    """

    driver: str
    description: str = ""
    epoch: str = ""
    wait_s: float = 7200.0
    retry_pause_s: float = 1.0
    kernel_faults: int = 2
    lab_faults: int = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LabTestbed:
    """One testbed as testbeds.toml has it; `settings` are of the class that its driver names."""

    name: str
    common: Common
    kind: DriverKind
    settings: Any


def load_testbeds(path: Path) -> dict[str, LabTestbed]:
    """Read testbeds.toml; relative paths in it are taken from its own directory."""
    path = path.absolute()  # a message must tell where it was looked for
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the list of testbeds: {error}",
            hint="name it by --testbeds FILE or BENCH_LAB_TESTBEDS",
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from error
    refuse_unknown(document, ["testbeds"], path)
    tables = document.get("testbeds", {})
    if not isinstance(tables, dict):
        raise UsageError(f"{path}: testbeds is no table", hint="write [testbeds.NAME]")
    return {name: _testbed(name, table, path) for name, table in tables.items()}


def choose(testbeds: Mapping[str, LabTestbed], name: str) -> LabTestbed:
    """The testbed of that name."""
    if name not in testbeds:
        raise UsageError(f"there is no testbed {quoted(name)}", hint=nearest(name, testbeds))
    return testbeds[name]


def make_driver(testbed: LabTestbed, home: Path, tell: Callable[[str], None] = unheard) -> Driver:
    """The driver for a testbed; `home` is where it may keep files, `tell` hears what it does."""
    return testbed.kind(testbed.settings, home, tell)


def _testbed(name: str, table: Any, path: Path) -> LabTestbed:
    place = TablePlace(path=path, keys=f"testbeds.{name}")
    if not _NAME.fullmatch(name):
        raise UsageError(f"{place}: not a name", hint="use letters, digits, '.', '_' and '-'")
    if not isinstance(table, dict):
        raise UsageError(f"{place}: not a table", hint=f"write [testbeds.{name}]")
    driver = str(table.get("driver", ""))
    drivers = installed.registered(installed.DRIVERS)
    if driver not in drivers:
        raise UsageError(
            f"{place}.driver: {quoted(driver)} is no driver", hint=nearest(driver, drivers)
        )
    kind: DriverKind = installed.load(drivers[driver])
    common_keys = [field.name for field in fields(Common)]
    own_keys = [field.name for field in fields(kind.SETTINGS)]
    for key, reason in getattr(kind.SETTINGS, "REFUSED", {}).items():
        if key in table:
            raise UsageError(f"{place}.{key}: {reason}")
    check_keys(table, common_keys + own_keys, place)
    common = {key: value for key, value in table.items() if field_of(key) in common_keys}
    own = {key: value for key, value in table.items() if field_of(key) in own_keys}
    return LabTestbed(
        name=name,
        common=fill(Common, common, place),
        kind=kind,
        settings=fill(kind.SETTINGS, own, place),
    )
