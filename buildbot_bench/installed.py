"""What is installed: this package's version and files, and what other packages register.

A checkout has the files beside the package; a wheel has them in `_shipped`, laid out alike.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import metadata
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

DRIVERS = "buildbot_bench.drivers"
"""Classes as `lab.driver.DriverKind` describes them, by what `driver` says in testbeds.toml."""
VIRTUAL_WORKLOADS = "buildbot_bench.virtual_workloads"
"""Values of `lab.virtual.settings.VirtualWorkload`, by the workload's name."""
EMBEDDED_WORKLOADS = "buildbot_bench.embedded_workloads"
"""Values of `lab.drivers.embedded.EmbeddedWorkload`, by the workload's name."""
SECTIONS = "buildbot_bench.report_sections"
"""Functions of a `core.report.Report` that give an `AddedSection`, or None to add nothing."""
SITES = "buildbot_bench.sites"
"""Classes as `plugin.outbox.sites.SiteKind` describes them, by their key in `notify`."""


def added(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; nothing is imported yet."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda one: (one.name, one.value)):
        other = found.setdefault(point.name, point)
        if other.value != point.value:
            raise UsageError(
                f"{quoted(point.name)} of {group} is both {other.value} and {point.value}",
                hint="uninstall one of the two packages",
            )
    return found


def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group of which this package has some itself."""
    found = added(group)
    if not found:
        raise UsageError(
            f"no installed package registers {group}",
            hint="install this one: python -m pip install buildbot-bench, or --editable .",
        )
    return found


def load(point: EntryPoint) -> Any:
    """Import what an entry point names."""
    try:
        return point.load()
    except Exception as error:
        raise UsageError(
            f"cannot load {quoted(point.name)} of {point.group}, {point.value}: {error!r}",
            hint="update or uninstall the package that registers it",
        ) from error


def load_all(group: str) -> dict[str, Any]:
    """All that is registered in a group, imported, by name.

    It fails as `registered` and `load` do.
    """
    return {name: load(point) for name, point in registered(group).items()}


_PROJECT = "buildbot-bench"


def version() -> str:
    """The version of this package, as its installation says; `unknown` where it has none."""
    try:
        return metadata.version(_PROJECT)
    except metadata.PackageNotFoundError:
        return "unknown"


class ShowVersion(argparse.Action):
    """Prints a command's name and the version of this package, and ends."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(
            option_strings,
            dest,
            nargs=0,
            default=argparse.SUPPRESS,
            help="print the version and end",
        )

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: object,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print them on stdout, and end with status 0."""
        sys.stdout.write(f"{parser.prog} {version()}\n")
        parser.exit()


_PACKAGE = Path(__file__).parent
_IN_CHECKOUT = _PACKAGE.parent
_INSTALLED = _PACKAGE / "_shipped"


def shipped(name: str) -> Path:
    """A file or directory of the project, as `master.cfg`; UsageError when there is none."""
    for home in (_INSTALLED, _IN_CHECKOUT):
        if (home / name).exists():
            return home / name
    raise UsageError(
        f"there is no {name} in {_INSTALLED} nor in {_IN_CHECKOUT}",
        hint="install buildbot-bench again, or run from a whole checkout",
    )
