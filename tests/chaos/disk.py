"""Disks of a farm, which tests fill, or have lose unsynced data.

With root and a loop device, the disk is a file system in a file. A power cut is then the kernel's
own: EXT4_IOC_SHUTDOWN drops what no fsync and no write-back has brought to the device, as the tests
of file systems do it, and the next mount recovers the journal.
"""

import fcntl
import os
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from tests.running import ran

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN of <linux/ext4.h>
_NO_LOG_FLUSH = 2
_MEGABYTES = 512
_BLOCK = 4096  # bytes
_BUSY_S = 30.0


class FarmDisk(Protocol):
    """Where a farm lies. `lacks` says what cannot be done with it here, or nothing."""

    root: Path
    lacks: str

    def cut_power(self) -> None:
        """Lose what is not on the disk yet; nothing may run that uses it."""

    def fill(self) -> None:
        """Leave no byte free."""

    def free(self) -> None:
        """Take back what `fill` put there."""

    def remove(self) -> None:
        """Give the disk back; nothing may run that uses it."""


class PlainDirectory:
    """A directory like any other: it outlives a power cut, and is never full."""

    def __init__(self, root: Path, lacks: str) -> None:
        self.root = root
        self.lacks = lacks
        root.mkdir()

    def cut_power(self) -> None:
        """All that was written stays."""

    def fill(self) -> None:
        """Nothing is filled: the directory is others' as well."""

    def free(self) -> None:
        """Nothing was filled."""

    def remove(self) -> None:
        """It stays, to be looked at."""


class LoopDisk:
    """An ext4 file system in a file."""

    lacks = ""

    def __init__(self, home: Path) -> None:
        """CalledProcessError or OSError where the system lets nobody mount it."""
        self.root = home / "disk"
        self._image = home / "disk.ext4"
        self._ballast = self.root / "ballast"
        self.root.mkdir()
        with self._image.open("wb") as file:
            file.truncate(_MEGABYTES << 20)
        _run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self._mount()

    def cut_power(self) -> None:
        """As the protocol says."""
        descriptor = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        finally:
            os.close(descriptor)
        self._unmount()
        self._mount()
        self.free()

    def fill(self) -> None:
        """As the protocol says."""
        with suppress(OSError), self._ballast.open("ab", buffering=0) as file:
            while True:
                state = os.fstatvfs(file.fileno())
                size = max(state.f_bavail * state.f_frsize, _BLOCK)
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)

    def free(self) -> None:
        """As the protocol says."""
        self._ballast.unlink(missing_ok=True)

    def remove(self) -> None:
        """As the protocol says."""
        self._unmount()
        self._image.unlink()

    def _mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.root))

    def _unmount(self) -> None:
        deadline_s = time.monotonic() + _BUSY_S
        while True:
            try:
                return _run("umount", str(self.root))
            except subprocess.CalledProcessError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.1)  # who was killed lets go of its files a moment later


def disk_in(home: Path) -> FarmDisk:
    """The best disk that the system lets us have."""
    try:
        return LoopDisk(home)
    except (OSError, subprocess.CalledProcessError) as error:
        words = getattr(error, "stderr", None) or str(error)
        why = words.strip().splitlines()[-1]
        return PlainDirectory(home / "plain", f"no file system can be mounted here: {why}")


def _run(*command: str) -> None:
    ran(command, check=True)
