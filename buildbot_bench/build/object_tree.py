"""The object tree that is kept between builds, and emptied when the tool chain is another one."""

from __future__ import annotations

import shutil
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError

_STAMP = "bench-toolchain"
_MEGABYTE = 1 << 20


def prepare(obj: Path, toolchain: str, *, clean: bool, least_free_mb: int) -> str:
    """Have the object tree ready for a tool chain; says why it was emptied, if it was.

    Raises InfraError when the disk has less than `least_free_mb` megabytes left.
    """
    stamp = obj / _STAMP
    try:
        made_by = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
        why = ""
        if clean:
            why = "as told"
        elif made_by not in {"", toolchain}:
            why = f"it was made by {made_by}"
        if why and obj.exists():
            _empty(obj, is_ours=stamp.exists())
        obj.mkdir(parents=True, exist_ok=True)
        _need_room(obj, least_free_mb)
        stamp.write_text(toolchain, encoding="utf-8")
    except OSError as error:
        raise InfraError(f"cannot use the object tree: {error}", hint="see --obj") from error
    return why


def emptied(directory: Path) -> Path:
    """The directory, there and empty."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def _empty(obj: Path, *, is_ours: bool) -> None:
    if not is_ours and any(obj.iterdir()):
        raise UsageError(
            f"{obj} is no object tree of bench-build", hint="empty it, or name another"
        )
    shutil.rmtree(obj)


def _need_room(obj: Path, least_free_mb: int) -> None:
    free_mb = shutil.disk_usage(obj).free // _MEGABYTE
    if free_mb < least_free_mb:
        raise InfraError(
            f"No space left on device: {free_mb} MB at {obj}, {least_free_mb} are needed",
            hint="make room, or say less by --least-free",
        )
