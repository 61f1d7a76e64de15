"""The object tree that is kept between builds, and emptied for another tool chain."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.build.kernconf import NAME
from buildbot_bench.core.errors import InfraError, UsageError

_STAMP = "bench-toolchain"
_FILES = "bench-files"
_MEGABYTE = 1 << 20
_OBJECT = re.compile(r"^[\w-]+\.o:", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTree:
    """The objects of one source tree: `machine` is amd64.amd64."""

    place: Path
    source: Path
    machine: str

    @property
    def kernel_directory(self) -> Path:
        """Where the kernel's objects are."""
        objects = Path(f"{self.place}{self.source}", self.machine)
        before_2018 = Path(f"{self.place}/{self.machine}{self.source}")
        return (before_2018 if before_2018.is_dir() else objects) / "sys" / NAME

    def files_to_compile(self) -> int:
        """About how many files a build from scratch compiles; 0 when some are compiled already."""
        if any(self.kernel_directory.glob("*.o")):
            return 0
        noted = self.place / _FILES
        if noted.is_file() and (text := noted.read_text()).isdigit():
            return int(text)
        rules = self.kernel_directory / "Makefile"  # config(8) writes a rule for each
        return len(_OBJECT.findall(rules.read_text(errors="replace"))) if rules.is_file() else 0

    def note_compiled(self, files: int) -> None:
        """Keep the largest number of files that a build compiled, for the next from scratch."""
        noted = self.place / _FILES
        before = noted.read_text() if noted.is_file() else "0"
        if not before.isdigit() or int(before) < files:
            noted.write_text(str(files))


def prepare(obj: Path, toolchain: str, *, clean: bool, least_free_mb: int) -> str:
    """Have the object tree ready for a tool chain; says why it was emptied, if it was."""
    stamp = obj / _STAMP
    try:
        made_by = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
        why = ""
        if clean:
            why = "as told"
        elif made_by not in {"", toolchain}:
            why = f"it was made by {made_by}"
        if why and obj.exists():
            if not stamp.exists() and any(obj.iterdir()):
                raise UsageError(
                    f"{obj} is no object tree of bench-build", hint="empty it, or name another"
                )
            shutil.rmtree(obj)
        obj.mkdir(parents=True, exist_ok=True)
        _need_room(obj, least_free_mb)
        stamp.write_text(toolchain, encoding="utf-8")
    except OSError as error:
        raise InfraError(f"cannot use the object tree: {error}", hint="see --obj") from error
    return why


def drop_others_make(path: Path, tools: Path) -> None:
    """Remove make.py's make, beside the link `path`, unless it was built when that led to `tools`.

    An old make.py takes any make that is there, a newer one stops where that is a link.
    """
    make = path.with_name("bmake-install")
    if path.is_symlink() and path.readlink() == tools and not make.is_symlink():
        return
    for place in (path, make):
        if place.is_symlink():
            place.unlink()
    shutil.rmtree(make, ignore_errors=True)


def link(path: Path, target: Path) -> None:
    """A symbolic link that leads there, no matter what was at its place before."""
    if path.is_symlink():
        if path.readlink() == target:
            return
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.symlink_to(target)


def emptied(directory: Path) -> Path:
    """The directory, there and empty."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def _need_room(obj: Path, least_free_mb: int) -> None:
    free_mb = shutil.disk_usage(obj).free // _MEGABYTE
    if free_mb < least_free_mb:
        raise InfraError(
            f"No space left on device: {free_mb} MB at {obj}, {least_free_mb} are needed",
            hint="make room, or say less by --least-free",
        )
