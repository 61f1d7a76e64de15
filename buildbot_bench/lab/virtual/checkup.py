"""The check-up of a testbed in a virtual machine: whether QEMU boots one here, and by KVM."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.drivers.child import ChildProcess, last_cpu
from buildbot_bench.lab.virtual.machine import loading, option_value, qemu
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.trace import Plugin, symbolizer
from buildbot_bench.programs import output_of

KVM_DEVICE = Path("/dev/kvm")
# It takes half a second, and several on a busy machine; a KVM that is emulated itself may take ten.
LIMIT_S, KVM_LIMIT_S = 60.0, 5.0
_WORD = b"booted\n\0"
_CODE = bytes.fromhex(
    "31c0 8ed8"  # xor ax, ax; mov ds, ax
    "be167c"  # mov si, the word behind the code
    "baf803"  # mov dx, the serial port
    "ac 84c0 7403 ee ebf8"  # each byte of the word to the port
    "fa f4 ebfc"  # cli; hlt, for ever
)
_READS_AT = 0x7C00 + _CODE.index(b"\xac")  # lodsb, which takes a byte of the word
_SECTOR = (_CODE + _WORD).ljust(510, b"\0") + b"\x55\xaa"  # a boot sector: 512 bytes and its magic


def boots(
    program: str,
    home: Path,
    accelerator: str,
    limit_s: float = LIMIT_S,
    plugin: Plugin | None = None,
) -> bool:
    """Whether a boot sector says its word in time; InfraError when there is no QEMU."""
    console, sector = home / "logs" / "probe.out", home / "boot" / "probe"
    for path, content in ((console, b""), (sector, _SECTOR)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    command = [str(qemu(program, home)), "-nodefaults", "-no-user-config", "-display", "none"]
    command += ["-no-reboot", "-m", "16", "-accel", accelerator, "-serial", f"file:{console}"]
    command += ["-drive", f"file={option_value(sector)},format=raw,if=ide"]
    command += [] if plugin is None else loading(plugin)
    child = ChildProcess(
        command,
        home / "logs" / "probe-qemu.out",
        cpu=last_cpu(),
        lifetime_s=2 * limit_s,
        pass_fds=[] if plugin is None else [plugin.descriptor],
    )
    try:
        return child.wait_until(lambda: _WORD[:-1] in console.read_bytes(), limit_s)
    finally:
        child.kill()


def kvm_works(program: str, home: Path) -> bool:
    """Whether guests run by KVM here, and do not hang or crawl where its device opens."""
    return os.access(KVM_DEVICE, os.R_OK | os.W_OK) and boots(program, home, "kvm", KVM_LIMIT_S)


def counts_instructions(program: str, home: Path, plugin: Plugin) -> bool:
    """Whether this QEMU loads the plugin, and counts by it the instructions of a boot sector."""
    plugin.switch_on()
    # The last byte, which says that it is the end, may not have been read yet.
    return boots(program, home, "tcg", plugin=plugin) and (
        len(_WORD) - 1 <= plugin.read()[_READS_AT] <= len(_WORD)
    )


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
