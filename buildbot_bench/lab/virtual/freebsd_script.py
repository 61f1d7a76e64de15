"""What a FreeBSD under test boots by, our loader and init, and the commands for the init."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

from buildbot_bench.core.freebsd_releases import NEEDS
from buildbot_bench.lab.drivers.child import compile_program, fingerprint
from buildbot_bench.lab.virtual.settings import IPFW_COMMAND, PF_COMMAND, VirtualWorkload
from buildbot_bench.lab.virtual.system import ABI_AT, FREEBSD_ABI

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


READY = "bench: ready"
_FAILED = re.compile(r"^error: (\d+): ([^\r\n]*)", re.MULTILINE)
_UNLINKED = re.compile(r"^(KLD [^\r\n]*(?:: depends on|could not finalize)[^\r\n]*)", re.MULTILINE)
_NO_ROOT = re.compile(r"^mountroot>", re.MULTILINE)
# errno(2) of FreeBSD; the lab host may be another system.
_REASONS = {
    1: "that is not permitted while it runs",
    2: "there is no such name",
    6: "there is no such interface: the kernel lacks its driver",
    22: "that is no value for it",
    43: "there is no such protocol",
    47: "there is no such protocol",
    60: "it takes too long",
    78: "there is no such system call",
}
# The same of the firewalls' own commands; any other number is one of these.
_NO_FIREWALL = dict.fromkeys((2, 42), "neither kernel nor artefact have that firewall")
_NEWER_FIREWALL = "its interface is another one than FreeBSD 13's, which alone is known here"


def commands(workload: VirtualWorkload, nic: str, settings: Sequence[str]) -> str:
    """The script for a workload: addresses, a route to the receiver, and what else is to be set.

    The DUT's ports are the network driver's first two; `settings` are NAME=VALUE.
    """
    ports = (f"{nic}0", f"{nic}1")
    lines = ["-sysctl kern.build_id", *workload.commands(*ports)]
    lines += [f"{command} {port}" for command in ("up", "link") for port in ports]
    lines += [f"sysctl {setting}" for setting in settings]
    # Once more, as the kernel's own words may have come among the first.
    lines += ["-sysctl kern.build_id", f"say {READY}"]
    return "".join(f"{line}\n" for line in lines)


def is_ready(console: str) -> bool:
    """Whether init did all it was asked to do."""
    return READY in console


def fault(console: str) -> str:
    """What keeps a kernel from being ready, for ever, in a clause; empty when nothing does."""
    if _NO_ROOT.search(console):
        return (
            "finds no root: it lacks `device md` or `options FFS`, which MINIMAL has no more since "
            f"{NEEDS['ffs'].since}"
        )
    if unlinked := _UNLINKED.search(console):
        return f"could not load a module: {unlinked[1]}"
    if failed := _FAILED.search(console):
        return f"could not do `{failed[2]}` ({_reason(int(failed[1]), failed[2])})"
    return ""


def _reason(number: int, line: str) -> str:
    """What an errno(2) of FreeBSD means for a command."""
    if line in (IPFW_COMMAND, PF_COMMAND):
        return _NO_FIREWALL.get(number, _NEWER_FIREWALL)
    return _REASONS.get(number, f"errno {number} of FreeBSD")
