"""The check-up of a testbed in a virtual machine."""

import re
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.virtual.machine import qemu
from buildbot_bench.lab.virtual.places import symbolizer
from buildbot_bench.lab.virtual.probe import KVM_DEVICE, boots
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.programs import output_of

MACHINE = ("QEMU", "boot")  # the findings without which there is no machine
_VERSION_S = 20.0  # for `qemu --version`, on a machine however busy
_VERSION = re.compile(r"version (\d+)\.(\d+)")
_OLDEST = (7, 2)  # the first with -netdev stream


def check_machine(
    settings: QemuSettings, home: Path, known_good: Path | None, accelerator: Callable[[], str]
) -> list[CheckFinding]:
    """QEMU, a boot, KVM where it is wanted, the known-good kernel, and who reads line tables.

    `accelerator` finds out which one works, which may take some seconds.
    """
    try:
        findings = [CheckFinding(subject="QEMU", detail=qemu_version(settings.program, home))]
        findings.append(_boot(settings, home))
    except BenchError as error:
        remedy = error.hint or "see the message"
        return [CheckFinding(subject="QEMU", detail=error.message, remedy=remedy)]
    if settings.accelerator == "auto":
        works = accelerator() == "kvm"
        detail = "a guest boots by it" if works else f"no guest boots by {KVM_DEVICE}: TCG is used"
        findings.append(CheckFinding(subject="KVM", detail=detail))
    findings += [_known_good(settings, known_good), _line_tables()]
    return findings


def qemu_version(program: str, home: Path) -> str:
    """What QEMU calls itself."""
    told = output_of([str(qemu(program, home)), "--version"], deadline_s=_VERSION_S)
    name = told.partition("\n")[0].strip()
    version = _VERSION.search(name)
    if version and (int(version[1]), int(version[2])) < _OLDEST:
        raise InfraError(f"{name} has no stream network", hint="install QEMU 7.2 or newer")
    return name


def _boot(settings: QemuSettings, home: Path) -> CheckFinding:
    if boots(settings.program, home, "tcg"):
        return CheckFinding(subject="boot", detail="a boot sector says its word")
    return CheckFinding(
        subject="boot",
        detail="a boot sector stays silent",
        remedy=f"see {home / 'logs' / 'probe-qemu.err'}",
    )


def _known_good(settings: QemuSettings, known_good: Path | None) -> CheckFinding:
    subject = "known-good kernel"
    if known_good is not None:
        return CheckFinding(subject=subject, detail=str(known_good))
    if settings.known_good is not None:
        return CheckFinding(
            subject=subject, detail=f"{settings.known_good} is missing", remedy="put one there"
        )
    return CheckFinding(subject=subject, detail="the first one that forwards here will be it")


def _line_tables() -> CheckFinding:
    """Without such a program reports only lack something: nothing has to be fixed."""
    subject, found = "line tables", symbolizer()
    if found is not None:
        return CheckFinding(subject=subject, detail=f"{found} reads them")
    detail = (
        "reports name functions without file and line: for these install llvm (llvm-symbolizer) "
        "or binutils (addr2line)"
    )
    return CheckFinding(subject=subject, detail=detail)
