"""Kernels that QEMU itself boots: a Multiboot program or a Linux image."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.files import copy_verified
from buildbot_bench.lab.virtual.frames import BurstTraffic
from buildbot_bench.lab.virtual.kind import FileKind, kind_of
from buildbot_bench.lab.virtual.settings import MULTIBOOT
from buildbot_bench.lab.virtual.system import BootImage
from buildbot_bench.lab.virtual.workloads import workloads_of

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
