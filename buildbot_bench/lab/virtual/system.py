"""The systems that can be the DUT in a virtual machine, the files and programs that boot them."""

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple, Protocol

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.drivers.child import compile_program, fingerprint
from buildbot_bench.lab.files import copy_verified
from buildbot_bench.lab.virtual.bursts import BurstTraffic
from buildbot_bench.lab.virtual.settings import MULTIBOOT, workloads_of

_ELF = b"\x7fELF"
_AMD64_ELF = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_AMD64_PROGRAM = struct.pack("<HH", 2, 62)  # its type and machine
_ABI_AT, _FREEBSD_ABI = 7, b"\x09"  # EI_OSABI and ELFOSABI_FREEBSD
_INTERPRETER = b"/red/herring"  # what FreeBSD's kernels name, so that nobody starts them
_PVH_NOTE = b"Xen\0"
_MULTIBOOT = struct.pack("<I", 0x1BADB002)  # the magic number of Multiboot 1
_MULTIBOOT_WITHIN = 8192  # bytes from the file's start, by its specification
_PACKED = (b"\xfd7zXZ\0", b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd")
_TAR_AT, _TAR = 257, b"ustar"  # bytes; POSIX ustar


class FileKind(StrEnum):
    """The kinds that matter here, in words."""

    ARCHIVE = "a packed archive"
    FREEBSD = "a FreeBSD kernel for amd64"
    FOREIGN = "a FreeBSD kernel for another processor"
    MULTIBOOT = "a Multiboot program"
    PVH = "a kernel that QEMU boots by its PVH note"
    AMD64 = "an ELF file for amd64"
    ELF = "an ELF file"
    OTHER = "a file of another kind"


def kind_of(path: Path) -> FileKind:
    """Which kind of file that is; OSError when it cannot be read."""
    with path.open("rb") as file:
        head = file.read(_MULTIBOOT_WITHIN)
        if head.startswith(_PACKED) or head[_TAR_AT:].startswith(_TAR):
            return FileKind.ARCHIVE
        if not head.startswith(_ELF):
            return FileKind.OTHER
        amd64 = head.startswith(_AMD64_ELF) and head[16:20] == _AMD64_PROGRAM
        if head[_ABI_AT : _ABI_AT + 1] == _FREEBSD_ABI or _INTERPRETER in head:
            return FileKind.FREEBSD if amd64 else FileKind.FOREIGN
        if _MULTIBOOT in head and not amd64:
            return FileKind.MULTIBOOT
        if _PVH_NOTE in head + file.read():
            return FileKind.PVH
    return FileKind.AMD64 if amd64 else FileKind.ELF


@dataclass(frozen=True, kw_only=True, slots=True)
class BootImage:
    """An artefact as it was unpacked: its kernel, an ELF file or none, and that file's SHA-256.

    `debug` is the same kernel with more symbols, if there is one. `modules` are the files that are
    loaded with it, by their names; `missing` those that are not in the artefact.
    """

    kernel: Path
    digest: str
    debug: Path | None = None
    modules: Mapping[str, Path] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


class System(Protocol):
    """One kind of system, as one testbed has it."""

    def workloads(self) -> Mapping[str, BurstTraffic]:
        """Each workload, and the packets that are sent for it; the usual one first."""

    def check(self) -> list[CheckFinding]:
        """What the lab host must have to boot it, besides QEMU."""

    def facts(self) -> dict[str, str]:
        """What a value depends on, besides the machine."""

    def unpack(self, artefact: Path, digest: str, directory: Path) -> BootImage:
        """Put an artefact whose SHA-256 is `digest` where it can be booted from.

        Raises InfraError for another digest, and for what this testbed could never boot;
        UntestableRevision for what no testbed could.
        """

    def arguments(self, image: BootImage, workload: str, tunables: Sequence[str]) -> list[str]:
        """QEMU's arguments that boot it; paths in them may be relative to the home's logs.

        Raises InfraError when the lab host cannot make what is needed for that.
        """

    def is_ready(self, console: str) -> bool:
        """Whether traffic may be sent, as far as the console says."""

    def fault(self, console: str) -> str:
        """Why it will never be ready, as far as the console says, in a clause, or nothing."""

    def suspects_testbed(self, image: BootImage) -> bool:
        """Whether one that fails where none ever worked is taken for the testbed's fault."""


_FREEBSDS = (FileKind.ARCHIVE, FileKind.FREEBSD, FileKind.FOREIGN)


class Multiboot:
    """A system that is one file."""

    def __init__(self) -> None:
        self._workloads = workloads_of(MULTIBOOT)

    def workloads(self) -> Mapping[str, BurstTraffic]:
        """Those that are registered for it: plain forwarding."""
        return {name: one.traffic for name, one in self._workloads.items()}

    def check(self) -> list[CheckFinding]:
        """Nothing: a boot sector boots in the same way."""
        return []

    def facts(self) -> dict[str, str]:
        """Nothing."""
        return {}

    def unpack(self, artefact: Path, digest: str, directory: Path) -> BootImage:
        """Copy it."""
        kernel = directory / "kernel"
        copy_verified(artefact, kernel, digest)
        if (kind := kind_of(kernel)) in _FREEBSDS:
            raise InfraError(
                f"the artefact is {kind}, and this testbed boots what QEMU boots itself",
                hint='say system = "freebsd" in testbeds.toml, or send the job to another testbed',
            )
        return BootImage(kernel=kernel, digest=digest)

    def arguments(self, image: BootImage, workload: str, tunables: Sequence[str]) -> list[str]:
        """Tunables stand on the kernel's command line."""
        del workload
        return ["-kernel", str(image.kernel), "-append", " ".join(tunables)]

    def is_ready(self, console: str) -> bool:
        """Nothing is agreed upon that it would print: packets will show."""
        del console
        return True

    def fault(self, console: str) -> str:
        """Nor for this."""
        del console
        return ""

    def suspects_testbed(self, image: BootImage) -> bool:
        """An ELF file with nothing in it by which QEMU could boot it is none for this testbed."""
        return kind_of(image.kernel) in (FileKind.AMD64, FileKind.ELF)


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
    """Where our own programs are that boot a FreeBSD: its loader and its init."""

    loader: Path
    init: Path

    def init_of_freebsd(self) -> bytes:
        """Return init with the header of FreeBSD's own programs, which GNU's ld does not write."""
        content = self.init.read_bytes()
        return content[:_ABI_AT] + _FREEBSD_ABI + content[_ABI_AT + 1 :]


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
