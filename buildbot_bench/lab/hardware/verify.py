"""The check that the running kernel is the requested one.

The archive's labels came from file names, and 43 of its 991 results belong to another kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.hardware.archive import KernelArchive
from buildbot_bench.lab.hardware.image import SliceImage
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings
from buildbot_bench.lab.hardware.sysctl import read_sysctls

# Both stand in the kernel's file as they are told: uname -v, and its configuration if it has it.
_SELF_DESCRIPTIONS = ("kern.version", "kern.conftxt")


class AnotherKernelError(InfraError):
    """A host runs a kernel that is not the one that it should."""

    def __init__(self, remote: Remote, what: str) -> None:
        hint = "what is measured now would be another kernel's"
        super().__init__(f"{remote.address} {what}", hint=hint)


def verify_kernel(remote: Remote, dut: DutSettings, archive: KernelArchive) -> None:
    """Compare file name, file and self-descriptions."""
    values = read_sysctls(remote, "kern.bootfile", *_SELF_DESCRIPTIONS)
    bootfile = values.get("kern.bootfile", "")
    if bootfile != archive.bootfile:
        raise AnotherKernelError(
            remote, f"runs {bootfile or 'nothing known'}, not {archive.bootfile}"
        )
    installed = remote.run("sha256", "-q", dut.path(bootfile.lstrip("/"))).stdout.strip()
    if installed != archive.kernel_digest:
        found = installed[:12] or "no such file"
        raise AnotherKernelError(
            remote, f"has {found} as {bootfile}, not {archive.kernel_digest[:12]}"
        )
    _compare_descriptions(remote, archive, values)


def verify_image(remote: Remote, image: SliceImage) -> None:
    """Compare the running kernel's self-descriptions with an image; InfraError for another's.

    That it runs from the slice under test was seen when it booted.
    """
    _compare_descriptions(remote, image, read_sysctls(remote, *_SELF_DESCRIPTIONS))


def set_tunables(remote: Remote, tunables: Sequence[str]) -> None:
    """See that each NAME=VALUE is set; what the loader could not set is set now."""
    names = [setting.split("=", 1)[0] for setting in tunables]
    values = read_sysctls(remote, *names) if names else {}
    for setting in tunables:
        name, value = setting.split("=", 1)
        if values.get(name) == value:
            continue
        answer = remote.run("sysctl", setting)
        if answer.status != 0:
            raise UntestableRevision(f"{setting} cannot be set: {answer.complaint}")


def _compare_descriptions(
    remote: Remote, artefact: KernelArchive | SliceImage, values: Mapping[str, str]
) -> None:
    for name in _SELF_DESCRIPTIONS:
        if not artefact.holds(values.get(name, "")):
            line = values[name].splitlines()[0]
            raise AnotherKernelError(
                remote, f"says of itself {quoted(line, columns=120)}, which is not in the kernel"
            )
