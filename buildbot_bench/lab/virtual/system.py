"""The systems that can be the DUT in a virtual machine, and those that QEMU boots itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.files import copy_verified
from buildbot_bench.lab.virtual.frames import BurstTraffic
from buildbot_bench.lab.virtual.kind import FileKind, kind_of
from buildbot_bench.lab.virtual.settings import MULTIBOOT
from buildbot_bench.lab.virtual.workloads import workloads_of


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
