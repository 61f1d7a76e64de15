"""The directories and processes of a farm, and the manifest of a backup."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

from buildbot_bench.archives.contents import contents_apart
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.json_model import MissingKeyError, Rule, UnreadableError, from_json
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.core.wire import Measured
from buildbot_bench.demo.watching import running
from buildbot_bench.lab.files import is_locked, sha256
from buildbot_bench.lab.job import Job
from buildbot_bench.plugin.operations.boots import Boot, FarmProcess, LabJob
from buildbot_bench.plugin.operations.health import Violation
from buildbot_bench.plugin.operations.values import check_digest

FORMAT = 1
NAME = "manifest.json"
DATABASE = "database"
WORKFLOW = "bench.yml"
# Whatever else a manifest names is not copied anywhere: it may be a stranger's.
_KNOWN = re.compile(
    r"database|bench\.yml|master\.cfg|testbeds\.toml"
    r"|secrets/[A-Za-z0-9_][\w.-]{0,99}|artefacts/[0-9a-f]{2}/[0-9a-f]{64}"
)
_SHA = re.compile(r"[0-9a-f]{64}")
_SHOWN = 40  # columns of a value that is wrong
_LATEST_S = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
_DAMAGED = "take another backup: this one is damaged"
_LARGEST = 64 * 1024**2  # of a manifest: a name and a digest for each of 400,000 kernels


@dataclass(frozen=True, kw_only=True, slots=True)
class BackupManifest:
    """`tables` is the last migration that the tables had seen, `database` SQLAlchemy's name of it.

    `files` maps names within the backup to SHA-256 digests in hexadecimal; `made_at_s` is in
    seconds since the epoch.
    """

    format: Annotated[int, Rule(minimum=FORMAT)]
    release: str
    tables: str
    database: str
    made_at_s: Annotated[float, Rule(minimum=0, maximum=_LATEST_S)]
    files: Mapping[str, Any]

    def write(self, directory: Path) -> None:
        """Keep it beside the files, which must be there."""
        text = json.dumps(asdict(self), indent=1, sort_keys=True)
        (directory / NAME).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, directory: Path) -> Self:
        """That of a backup."""
        path = directory / NAME
        try:
            if path.stat().st_size > _LARGEST:
                raise UsageError(f"{path} is too large", hint=_DAMAGED)
            said = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(
                f"{directory} is no backup: it has no {NAME}",
                hint="name a directory that `bench-farm backup` made",
            ) from None
        except (ValueError, OSError, RecursionError):
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED) from None
        return cls.of(said, path)

    @classmethod
    def of(cls, said: Any, path: Path) -> Self:
        """Return the manifest that any JSON value is, which was read from `path`."""
        if not isinstance(said, dict) or type(said.get("format")) is not int:
            raise UsageError(f"{path} cannot be read", hint=_DAMAGED)
        if said["format"] > FORMAT:
            raise UsageError(
                f"{path.parent} was made by buildbot-bench"
                f" {one_line(str(said.get('release')), columns=20)}",
                hint="install that release, or a later one, and restore with it",
            )
        if odd := said.keys() - {field.name for field in fields(cls)}:
            raise UsageError(f"{path} has {quoted(min(odd))}", hint=_DAMAGED)
        try:
            manifest = from_json(cls, said)
        except MissingKeyError as error:
            raise UsageError(f"{path} lacks {quoted(error.key)}", hint=_DAMAGED) from error
        except UnreadableError as error:
            value = quoted(error.value, columns=_SHOWN)
            raise UsageError(f"{path} has {value} as its {error.key}", hint=_DAMAGED) from error
        for name, digest in manifest.files.items():
            if not (_KNOWN.fullmatch(name) and isinstance(digest, str) and _SHA.fullmatch(digest)):
                raise UsageError(
                    f"{path} names {quoted(name)} with {quoted(digest, columns=_SHOWN)}",
                    hint=_DAMAGED,
                )
        for name in (DATABASE, WORKFLOW):
            if name not in manifest.files:
                raise UsageError(f"{path} names no {name}", hint=_DAMAGED)
        return manifest

    def check(self, directory: Path) -> None:
        """See that each file is there as it was."""
        for name, digest in self.files.items():
            path = directory / name
            for parent in (*Path(name).parents[:-1], Path(name)):
                if (directory / parent).is_symlink():
                    raise UsageError(f"{directory / parent} is a link", hint=_DAMAGED)
            if not path.is_file():
                raise UsageError(f"the backup lacks {path}", hint=_DAMAGED)
            if sha256(path) != digest:
                raise UsageError(f"{path} is not what was backed up", hint=_DAMAGED)


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
