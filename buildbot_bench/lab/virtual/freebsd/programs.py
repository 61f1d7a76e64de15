"""The loader, the init and a checking kernel of a FreeBSD under test, and what the loader loads."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from buildbot_bench.lab.drivers.toolchain import compile_program, fingerprint
from buildbot_bench.lab.virtual.kind import ABI_AT, FREEBSD_ABI

_SHARED = "freestanding"
# No library, nothing that one would have to bring: no stack protector, no unwinding, no FPU.
_BARE = (
    *("-std=gnu11", "-Os", "-Wall", "-Wextra", "-ffreestanding", "-fno-pie"),
    *("-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-mgeneral-regs-only"),
    *("-nostdlib", "-static", "-Wl,--build-id=none", "-Wl,-z,noexecstack"),
)
_FLAGS: Mapping[str, Sequence[str]] = {
    "loader": ("-m32", "-march=i686", *_BARE),  # as Multiboot enters it: 32 bits, no pages
    "checker": (
        *("-m64", "-mcmodel=kernel", "-mno-red-zone", "-Wl,-z,max-page-size=4096"),
        *(*_BARE, "-Wl,--build-id=sha1"),
    ),
    "init": ("-m64", "-Wl,-z,max-page-size=4096", *_BARE),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Programs:
    """Where they are."""

    loader: Path
    init: Path

    def init_of_freebsd(self) -> bytes:
        """Return init with the header of FreeBSD's own programs, which GNU's ld does not write."""
        content = self.init.read_bytes()
        return content[:ABI_AT] + FREEBSD_ABI + content[ABI_AT + 1 :]


def programs(home: Path) -> Programs:
    """Both programs; compiles them when sources or flags are new."""
    return Programs(loader=_program("loader", home), init=_program("init", home))


def checker(home: Path, *more: str) -> Path:
    """The checking kernel, with more object files if asked; raises InfraError like `programs`."""
    return _program("checker", home, *more)


def _program(name: str, home: Path, *more: str) -> Path:
    virtual, flags = resources.files("buildbot_bench.lab.virtual"), (*_FLAGS[name], *more)
    sources = [file for part in (name, _SHARED) for file in _files(virtual / part)]
    target = home / "tools" / f"{name}-{fingerprint(flags, sources)}" / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with resources.as_file(virtual) as root:
        files = [
            str(path)
            for part in (name, _SHARED)
            for kind in ("*.S", "*.c")
            for path in sorted((root / part).glob(kind))
        ]
        script = ("-T", str(root / name / f"{name}.ld"))
        compile_program(target, files, (*flags, *script))
    return target


def _files(part: Traversable) -> list[Traversable]:
    return sorted((file for file in part.iterdir() if file.is_file()), key=lambda file: file.name)


class Handed(NamedTuple):
    """A file, its kind as loader/main.c has it, and the name by which the kernel calls it."""

    path: Path
    kind: str
    name: str = ""


def handing(loader: Path, files: Sequence[Handed], home: Path) -> list[str]:
    """QEMU's arguments; the kernel comes first.

    A space and a comma mean something in -initrd, and a testbed's home may have some: its files are
    named from where QEMU runs, which is the home's directory of logs.
    """
    logs = home / "logs"
    listed = (f"{os.path.relpath(file.path, logs)} {file.kind} {file.name}" for file in files)
    return ["-kernel", str(loader), "-initrd", ",".join(listed)]
