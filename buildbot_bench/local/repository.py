"""A repository that one process at a time measures."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.legible import one_line
from buildbot_bench.local.builds import Room
from buildbot_bench.local.git import Git
from buildbot_bench.local.store import Store

_READ = 200  # characters of the note of who has the lock


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """A repository that this process alone measures."""

    git: Git
    room: Room
    store: Store


@contextmanager
def opened(git: Git, *, most_bytes: int) -> Iterator[Repository]:
    """Have a repository to oneself; `most_bytes` are for what is built."""
    room = Room(home=git.home / "bench", most_bytes=most_bytes)
    try:
        room.home.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(room.home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InfraError(
            f"{room.home} cannot be written: {error}", hint="use a clone of your own"
        ) from error
    try:
        _take(lock, room.home)
        store = Store(room.home / "evidence.sqlite")
        try:
            yield Repository(git=git, room=room, store=store)
        finally:
            store.close()
    finally:
        os.close(lock)


def _take(lock: int, home: Path) -> None:
    """Take the lock, and note who has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        who = one_line(os.pread(lock, _READ, 0).decode("utf-8", "replace"), columns=80)
        raise InfraError(
            f"process {who or 'of another'} measures in {home.parent} already, "
            "and two would disturb each other",
            hint="wait for it, or end it",
        ) from error
    except OSError as error:
        raise InfraError(f"{home}/lock cannot be locked: {error}") from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
