"""A farm on disk: its place, by command line and environment, and what its directories hold."""

import argparse
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.archives.contents import contents_apart
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.wire import Measured
from buildbot_bench.demo.watching import running
from buildbot_bench.lab.files import is_locked, sha256
from buildbot_bench.lab.job import Job
from buildbot_bench.plugin.operations.boots import Boot, FarmProcess, LabJob
from buildbot_bench.plugin.operations.copies import url_of
from buildbot_bench.plugin.operations.health import Violation
from buildbot_bench.plugin.operations.values import check_digest
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


# What the broker calls its jobs: a person's have another form of name (lab/background.py).
_TOKEN = re.compile(r"[0-9a-f]{32}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
# Each process of a farm is told by its environment where the lab keeps its state.
_MARK = "BENCH_LAB_STATE="
_MOST_WORDS = 100


def lab_states(directory: Path) -> tuple[Path, ...]:
    """Where the lab workers of a farm on this machine keep their jobs."""
    return tuple(sorted(path.parent for path in directory.glob("*/state/jobs")))


def lab_jobs(states: Iterable[Path]) -> Iterator[LabJob]:
    """The jobs that a master asked for. InfraError when what one wrote down cannot be read."""
    for state in states:
        for place in sorted((state / "jobs").glob("*/")):
            if _TOKEN.fullmatch(place.name):
                yield _lab_job(Job(state, place.name), place.parent)


def _lab_job(job: Job, where: Path) -> LabJob:
    is_running = job.is_running()  # asked before reading: what a dying runner wrote is read
    try:
        events = job.events.read()
    except InfraError as error:
        raise InfraError(
            f"{job.events.path}: {error}", hint="keep the file, and repair it"
        ) from error
    return LabJob(
        name=job.name,
        where=str(where),
        is_running=is_running,
        boots=tuple(_boot(event) for event in events if isinstance(event, Measured)),
    )


def _boot(event: Measured) -> Boot:
    values: Mapping[str, float | None] = event.values or {"": None}
    return event.ordinal, frozenset(values.items())


def artefact_files(master: Path) -> dict[str, int]:
    """The kernels on the master's disk: sizes in bytes by digest; copies and uploads are none."""
    found: dict[str, int] = {}
    for file in (master / "artefacts").glob("??/*"):
        if _DIGEST.fullmatch(file.name):
            with suppress(FileNotFoundError):  # deleted meanwhile
                found[file.name] = file.stat().st_size
    return found


def check_kernels(
    master: Path, digests: Iterable[str], images: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[Violation]:
    """Find artefacts that are not what their names say, and images of another kernel than theirs.

    `images` are rows and their kernel digests by the artefact that tells them.
    """
    for digest in digests:
        path = master / "artefacts" / digest[:2] / digest
        with suppress(FileNotFoundError):  # reported by its size, or deleted meanwhile
            known = path.stat()
            key = (path, known.st_size, known.st_mtime_ns)
            artefact = f"artefact {digest[:12]}"
            if (found := _digest_of(*key)) != digest:
                yield from check_digest(artefact, "digest", digest, found, of="its file")
                continue
            for row, told in images.get(digest, ()):
                found, of = _kernel_digest_of(*key), f"its {artefact}"
                yield from check_digest(row, "kernel_digest", told, found, of=of)


# A second look at a farm a moment later reads no file again that is as it was.
@cache
def _digest_of(path: Path, _size: int, _changed: int) -> str:
    return sha256(path)


@cache
def _kernel_digest_of(path: Path, _size: int, _changed: int) -> str:
    try:
        return contents_apart(path).kernel_digest
    except UntestableRevision:
        return "no kernel"


def master_since_s(directory: Path, master: Path) -> float | None:
    """Since when a farm's master runs on this machine; None when none does.

    Its note and its pid file are written when it starts.
    """
    notes = [note for note in running(directory) if note.name == master.name]
    if notes:
        return (directory / f"{master.name}.running").stat().st_mtime
    pid_file = master / "twistd.pid"
    with suppress(OSError, ValueError):
        os.kill(int(pid_file.read_text()), 0)
        return pid_file.stat().st_mtime
    return None


def processes(directory: Path, states: Sequence[Path]) -> tuple[FarmProcess, ...]:
    """What runs for a farm that bench-farm keeps here; nothing where the system does not tell."""
    owners = {child.pid: child.name for child in running(directory)}
    for state in states:
        for place in (state / "jobs").glob("*/"):
            if (pid := _runner(place)) is not None:
                with suppress(ProcessLookupError):  # its children may lead groups of their own
                    owners[pid] = owners[os.getsid(pid)] = f"job {place.name}"
    found = []
    for pid in _marked(directory):
        with suppress(OSError):
            leaders = {os.getsid(pid), os.getpgid(pid), pid}
            named = [owners[leader] for leader in leaders if leader in owners]
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            found.append(
                FarmProcess(
                    pid=pid,
                    command=command.decode("utf-8", "replace")[:_MOST_WORDS].strip(),
                    owner=named[0] if named else None,
                )
            )
    return tuple(found)


def _runner(place: Path) -> int | None:
    """The number of the process that measures a job; None when none does."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        if is_locked(place / "runner.lock"):
            return int(json.loads((place / "runner.json").read_text(encoding="utf-8"))["pid"])
    return None


def _marked(directory: Path) -> Iterator[int]:
    """The processes whose environment says that they are of the farm in a directory."""
    mark = os.fsencode(f"{_MARK}{directory}{os.sep}")
    for place in sorted(Path("/proc").glob("[0-9]*")):
        with suppress(OSError):  # another user's, or gone
            if any(word.startswith(mark) for word in (place / "environ").read_bytes().split(b"\0")):
                yield int(place.name)
