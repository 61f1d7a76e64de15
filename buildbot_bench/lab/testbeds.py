"""The testbeds of a lab, read from testbeds.toml, and their drivers."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from buildbot_bench import extensions
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.driver import Driver, DriverKind, unheard
from buildbot_bench.lab.tables import (
    TablePlace,
    check_keys,
    field_of,
    fill,
    nearest,
    refuse_unknown,
)

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
    drivers = extensions.registered(extensions.DRIVERS)
    if driver not in drivers:
        raise UsageError(
            f"{place}.driver: {quoted(driver)} is no driver", hint=nearest(driver, drivers)
        )
    kind: DriverKind = extensions.load(drivers[driver])
    common_keys = [field.name for field in fields(Common)]
    own_keys = [field.name for field in fields(kind.SETTINGS)]
    if "workloads" not in own_keys and table.keys() & {"workloads", "loss"}:
        raise UsageError(
            f"{place}: driver {quoted(driver)} takes neither workloads nor loss here",
            hint="workloads of driver ssh may have loss; driver embedded has a workload lossless",
        )
    check_keys(table, common_keys + own_keys, place)
    common = {key: value for key, value in table.items() if field_of(key) in common_keys}
    own = {key: value for key, value in table.items() if field_of(key) in own_keys}
    return LabTestbed(
        name=name,
        common=fill(Common, common, place),
        kind=kind,
        settings=fill(kind.SETTINGS, own, place),
    )
