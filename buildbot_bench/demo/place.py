"""The directories and the database of a farm, by command line and environment."""

import argparse
import os
import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.on_disk import lab_states
from buildbot_bench.plugin.operations.copies import url_of
from buildbot_bench.workflow.load import load
from buildbot_bench.workflow.model import Workflow

_DEFAULT_DIRECTORY = Path(".farm/replay")
_DEFAULT_DB = "sqlite:///state.sqlite"


@dataclass(frozen=True, kw_only=True, slots=True)
class FarmPlace:
    """A farm's directories: what `bench-farm run` keeps, the master's, and each lab's state.

    A farm that is not kept by `bench-farm run` has no `directory` with notes of processes in it.
    """

    directory: Path
    master: Path
    db: sa.URL
    workflow: Path
    states: tuple[Path, ...]

    def read_workflow(self) -> Workflow:
        """What bench.yml says."""
        if not self.workflow.is_file():
            raise UsageError(f"there is no {self.workflow}", hint="name it by --workflow FILE")
        return load(self.workflow)


def place_of(options: argparse.Namespace) -> FarmPlace:
    """The farm that the options name."""
    directory = (options.dir or _around(Path.cwd()) or _DEFAULT_DIRECTORY).resolve()
    master = (options.master or directory / "master").resolve()
    if not master.is_dir():
        raise UsageError(
            f"there is no master in {master}",
            hint="name the farm by --dir, or --master, or go into its directory",
        )
    default = os.environ.get("BENCH_WORKFLOW", str(directory / "bench.yml"))
    states = [path.resolve() for path in options.lab or ()]
    if unknown := [str(path) for path in states if not path.is_dir()]:
        raise UsageError(f"there is no {unknown[0]}", hint="--lab names a lab worker's state")
    return FarmPlace(
        directory=directory,
        master=master,
        db=url_in(options.db, master),
        workflow=(options.workflow or Path(default)).resolve(),
        states=tuple(states) or lab_states(directory),
    )


def _around(place: Path) -> Path | None:
    """The directory with a farm in it that is nearest: this one or one above."""
    for directory in (place, *place.parents):
        if (directory / "master").is_dir() and (directory / "bench.yml").is_file():
            return directory
    return None


def url_in(named: str | None, master: Path) -> sa.URL:
    """The database of a master.

    The one that is named, else that of BENCH_DB here, else of its `environment`, else its file.
    """
    told = named or os.environ.get("BENCH_DB") or _environment_of(master).get("BENCH_DB")
    return url_of(told or _DEFAULT_DB, master)


def _environment_of(master: Path) -> dict[str, str]:
    """What `bench-farm init` has a master run with; nothing where init did not make it."""
    with suppress(OSError, ValueError):
        words = shlex.split((master / "environment").read_text(encoding="utf-8"), comments=True)
        return dict(word.split("=", 1) for word in words if "=" in word)
    return {}
