"""Files that are whole or absent after a kill or a power cut, checks of digests, and locks."""

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError


def bring_to_disk(path: Path) -> None:
    """Wait until the bytes of a file, or the names in a directory, are on the disk.

    A file that is renamed before its bytes are there is empty after a power cut.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Put a text in place of a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    temporary.write_text(text, encoding="utf-8")
    bring_to_disk(temporary)
    temporary.replace(path)


def copy_verified(source: Path, target: Path, digest: str, *, mode: int = 0o600) -> None:
    """Copy a file whose SHA-256 must be `digest`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(target)
    try:
        shutil.copyfile(source, temporary)
        check_digest(temporary, digest)
        temporary.chmod(mode)
        bring_to_disk(temporary)
        temporary.replace(target)
    except OSError as error:
        raise InfraError(f"cannot copy the artefact: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_digest(path: Path, digest: str) -> None:
    """See that a file's SHA-256 is `digest`."""
    found = sha256(path)
    if found != digest:
        raise InfraError(
            f"the artefact has SHA-256 {found}, not {digest}",
            hint="it was damaged on its way, or another file lies there; transfer it again",
        )


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")


_POLL_S = 0.1  # between two tries
_REMIND_S = 30.0  # between two words to who waits


def take_lock(path: Path) -> int:
    """Take a lock, waiting for its holder; returns the descriptor that holds it."""
    descriptor = _open(path)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def try_lock(path: Path) -> int | None:
    """Take a lock; returns the descriptor that holds it, or None when another has it."""
    descriptor = _open(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_locked(path: Path) -> bool:
    """Whether somebody holds a lock; asked in a way that does not disturb others who ask."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock for the length of a block; waits for it, which must therefore be short."""
    descriptor = take_lock(path)
    try:
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """Who has a testbed, and since when."""

    job: str
    pid: int
    since_s: float


@contextmanager
def testbed_lock(
    home: Path, job: str, *, deadline_s: float, tell: Callable[[str], None]
) -> Iterator[None]:
    """Have a testbed to oneself; tells whom it waits for, InfraError when that lasts too long."""
    descriptor = _wait_for_lock(home, deadline_s, tell)
    try:
        owner = Owner(job=job, pid=os.getpid(), since_s=time.time())
        (home / "owner.json").write_text(json.dumps(asdict(owner)), encoding="utf-8")
        yield
    finally:
        (home / "owner.json").unlink(missing_ok=True)
        os.close(descriptor)


def owner_of(home: Path) -> Owner | None:
    """Who wrote himself down as the owner; None when nobody did or the note is torn."""
    try:
        return Owner(**json.loads((home / "owner.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _wait_for_lock(home: Path, deadline_s: float, tell: Callable[[str], None]) -> int:
    began_s = time.monotonic()
    last_report: tuple[Owner | None, int] | None = None
    while (descriptor := try_lock(home / "lock")) is None:
        waited_s = time.monotonic() - began_s
        owner = owner_of(home)
        if waited_s > deadline_s:
            raise InfraError(
                f"the testbed was not free within {deadline_s:.0f} s: {_describe(owner)}",
                hint="see `bench-lab list`, or cancel that job",
            )
        if (news := (owner, int(waited_s / _REMIND_S))) != last_report:
            tell(f"waiting for the testbed: {_describe(owner)}")
            last_report = news
        time.sleep(_POLL_S)
    return descriptor


def _describe(owner: Owner | None) -> str:
    if owner is None:
        return "another job has it"
    age_s = max(0.0, time.time() - owner.since_s)
    return f"job {owner.job} (process {owner.pid}) has had it for {age_s:.0f} s"


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
