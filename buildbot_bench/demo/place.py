"""Where a farm lies, by what a command line and the environment say of it; it opens nothing."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.on_disk import lab_states
from buildbot_bench.plugin.operations.database import url_of
from buildbot_bench.workflow import Workflow, load

DEFAULT_DIRECTORY = Path(".farm/replay")
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
        """What bench.yml says.

        Raises:
            UsageError: It is not there, or cannot be understood.
        """
        if not self.workflow.is_file():
            raise UsageError(f"there is no {self.workflow}", hint="name it by --workflow FILE")
        return load(self.workflow)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which farm is meant."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=DEFAULT_DIRECTORY,
        help="of a farm that bench-farm keeps (default: %(default)s)",
    )
    parser.add_argument("--master", type=Path, help="the master's directory (default: DIR/master)")
    parser.add_argument(
        "--db", metavar="URL", help="default: $BENCH_DB, or state.sqlite in the master's directory"
    )
    parser.add_argument(
        "--workflow", type=Path, metavar="FILE", help="default: $BENCH_WORKFLOW, or DIR/bench.yml"
    )
    parser.add_argument(
        "--lab",
        type=Path,
        action="append",
        metavar="STATE",
        help="a lab worker's state, with its jobs (default: DIR/*/state)",
    )


def place_of(options: argparse.Namespace) -> FarmPlace:
    """The farm that the options name.

    Raises:
        UsageError: There is no such directory, or no database can be meant.
    """
    directory = options.dir.resolve()
    master = (options.master or directory / "master").resolve()
    if not master.is_dir():
        raise UsageError(
            f"there is no master in {master}", hint="name the farm by --dir, or --master"
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


def url_in(named: str | None, master: Path) -> sa.URL:
    """The database of a master: the one that is named, else that of BENCH_DB, else its file."""
    return url_of(named or os.environ.get("BENCH_DB", _DEFAULT_DB), master)
