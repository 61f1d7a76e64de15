"""The driver of a testbed in a virtual machine, whose kernels forward between two NICs."""

import platform
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.metric import BOOT
from buildbot_bench.core.profile.model import EXECUTED, Profile
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.drivers.child import kill_leftovers
from buildbot_bench.lab.files import copy_verified, sha256
from buildbot_bench.lab.virtual.bursts import Lost
from buildbot_bench.lab.virtual.freebsd_system import FreeBSD
from buildbot_bench.lab.virtual.machine import (
    KVM_DEVICE,
    VirtualMachine,
    await_forwarding,
    boots,
    fate,
    kvm_works,
    last_lines,
    qemu_version,
)
from buildbot_bench.lab.virtual.settings import FREEBSD, MULTIBOOT, QemuSettings
from buildbot_bench.lab.virtual.system import BootImage, Multiboot, System
from buildbot_bench.lab.virtual.trace import (
    Plugin,
    as_table,
    by_function,
    places_of,
    read_symbols,
    symbolizer,
)
from buildbot_bench.lab.virtual.tracers import Counted, Tracing, count, measure_pps

_SYSTEMS: Mapping[str, Callable[[QemuSettings, Path], System]] = {
    FREEBSD: FreeBSD,
    MULTIBOOT: lambda _settings, _home: Multiboot(),
}
_CONSOLE_LIMIT = 8000  # characters, its end; a page of a log


class QemuDriver:
    """Drives one virtual machine; `tell` hears what is being done."""

    SETTINGS = QemuSettings

    def __init__(
        self, settings: QemuSettings, home: Path, tell: Callable[[str], None] = unheard
    ) -> None:
        self._settings = settings
        self._home = home
        self._tell = tell
        self._system = _SYSTEMS[settings.system](settings, home)
        self._workload = self.workloads()[0]
        self._artefact = home / "boot" / "artefact"
        self._proven = home / "boot" / "known-good"
        self._digest = ""
        self._image: BootImage | None = None
        self._tunables: tuple[str, ...] = ()
        self._machine: VirtualMachine | None = None
        self._boot_s = 0.0
        self._said = ""
        self._chosen = ""
        self._tracing = Tracing(settings.program, home)

    def workloads(self) -> tuple[str, ...]:
        """Those of the system."""
        return tuple(self._system.workloads())

    def check(self) -> list[CheckFinding]:
        """QEMU, that it boots something, the known-good kernel, and what the system needs."""
        known_good = self._known_good()
        findings = _check_machine(self._settings, self._home, known_good, self._accelerator)
        boots_nothing = any(not found.fine for found in findings if found.subject in _MACHINE)
        if boots_nothing:
            return findings
        if self._settings.exact:
            findings.append(CheckFinding(subject="counting", detail=self._tracing.in_words()))
        return findings + self._system.check()

    def facts(self) -> dict[str, str]:
        """What a value depends on: QEMU, how it runs, and on what."""
        return {
            "machine": f"QEMU's pc, {self._settings.ram_mib} MiB, {self._settings.ports}",
            "qemu": qemu_version(self._settings.program, self._home),
            "accelerator": self._accelerator(),
            "host": f"{platform.system()} {platform.release()} {platform.machine()}",
            **(
                {"counted by": self._tracing.in_words(), "icount": self._settings.clock}
                if self._settings.exact
                else {}
            ),
            **self._system.facts(),
        }

    def prepare(self, workload: str) -> None:
        """Have the next boots be a workload's, where the system makes a difference."""
        if workload in self.workloads():
            self._workload = workload

    def install(self, artefact: Path, digest: str) -> None:
        """Put the kernel where the next boot finds it."""
        kill_leftovers(self._home)
        copy_verified(artefact, self._artefact, digest)
        self._image = self._system.unpack(self._artefact, digest, self._home / "boot" / "tried")
        self._digest = digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Have a loader set them, and the system what its loader cannot."""
        self._tunables = tuple(tunables)

    def boot(self) -> None:
        """Switch the machine on and wait until a packet comes through it."""
        if lacking := self._installed.missing:
            self._blame(f"the artefact has no {lacking[0]}.ko, which the testbed needs")
        plugin = self._tracing.plugin() if self._settings.exact else None
        began_s = time.monotonic()
        self._machine = self._start(self._installed, self._tunables, plugin)
        if fault := self._await_forwarding(self._machine):
            self._blame(f"the kernel {fault} when it booted")
        self._boot_s = time.monotonic() - began_s

    def verify(self) -> None:
        """Compare the file's digest, and the build ID that the kernel printed with the file's."""
        kernel, digest = self._installed.kernel, self._installed.digest
        found = sha256(kernel)
        if found != digest:
            raise InfraError(f"the DUT booted {found[:12]}, not {digest[:12]}")
        wanted, printed = read_symbols(kernel).build_id, _build_id_in(self._running.console())
        if wanted and printed and printed != wanted:
            raise InfraError(f"the DUT runs build {printed[:12]}, not {wanted[:12]}")
        if wanted and not printed:
            raise UntestableRevision("the kernel does not say on its console which one it is")

    def blast(self, workload: str) -> Blast:
        """Send the traffic: packets per second, or instructions per packet by function."""
        if workload not in self.workloads():
            raise InfraError(f"no such workload: {workload}")
        try:
            if self._settings.exact:
                blast = self._count()  # its clock counts instructions: the host's says nothing
            else:
                blast = measure_pps(self._running, self._settings.bursts)
                blast.values[BOOT.unit] = self._boot_s
        except Lost as lost:
            self._blame(f"the kernel {fate(self._running, lost)} under traffic")
        copy_verified(self._artefact, self._proven, self._digest)
        return blast

    def counter(self) -> str:
        """Instructions, each of them."""
        return EXECUTED

    def capture(self, workload: str) -> Profile:
        """Where the instructions of some bursts were executed."""
        del workload
        image = self._installed
        try:
            counted = self._counted()
        except Lost as lost:
            raise InfraError(
                f"the kernel {fate(self._running, lost)} while it was traced"
            ) from lost
        symbols = read_symbols(image.kernel)
        return replace(
            by_function(counted.executed, counted.packets, symbols),
            places=places_of(counted.executed, symbols, image.debug or image.kernel),
        )

    def console(self) -> str:
        """What the kernel printed on its serial port."""
        said = self._said if self._machine is None else self._machine.console()
        return said[-_CONSOLE_LIMIT:]

    def shutdown(self) -> None:
        """Switch the machine off."""
        if self._machine is not None:
            self._machine.power_off()
            self._said = self._machine.console()
            self._machine = None

    @property
    def _running(self) -> VirtualMachine:
        if self._machine is None:
            raise InfraError("the DUT is off")
        return self._machine

    @property
    def _installed(self) -> BootImage:
        if self._image is None:
            raise InfraError("no kernel was installed")
        return self._image

    def _start(
        self, image: BootImage, tunables: Sequence[str] = (), plugin: Plugin | None = None
    ) -> VirtualMachine:
        return VirtualMachine(
            self._settings,
            self._system.arguments(image, self._workload, tunables),
            self._home,
            accelerator=self._accelerator(),
            traffic=self._system.workloads()[self._workload],
            plugin=plugin,
        )

    def _accelerator(self) -> str:
        if not self._chosen:
            wanted = self._settings.accelerator == "auto"
            works = wanted and kvm_works(self._settings.program, self._home)
            self._chosen = "kvm" if works else "tcg"
        return self._chosen

    def _await_forwarding(self, machine: VirtualMachine) -> str:
        return await_forwarding(machine, self._system, self._settings.boot_limit_s)

    def _blame(self, fault: str) -> NoReturn:
        """Find out whose fault it is: the known-good kernel's turn."""
        self.shutdown()
        good = self._known_good()
        if good is None and self._system.suspects_testbed(self._installed):
            said = f"; the console's last lines: {last_lines(self._said)}" if self._said else ""
            raise InfraError(
                f"{fault}, and no kernel ever forwarded on this testbed, which is therefore taken "
                f"to be at fault{said}",
                hint="see `bench-lab check`, and name a kernel that works as `known_good`",
            )
        self._tell(f"{fault}; does the known-good one boot?")
        if good is None:
            program, accelerator = self._settings.program, self._accelerator()
            trouble = "" if boots(program, self._home, accelerator) else "boots nothing else either"
        else:
            trouble = self._try_out(good)
        if trouble:
            raise InfraError(f"{fault}, but the lab {trouble}", hint="see `bench-lab check`")
        raise UntestableRevision(fault)

    def _try_out(self, good: Path) -> str:
        """Boot a kernel and send a burst; what went wrong, or nothing."""
        image = self._system.unpack(good, sha256(good), self._home / "boot" / "good")
        if image.missing:
            return f"is no better: the known-good artefact has no {image.missing[0]}.ko either"
        machine = self._start(image)
        try:
            if fault := self._await_forwarding(machine):
                return f"is no better: the known-good kernel {fault}"
            machine.wires.send_burst()
        except Lost as lost:
            return f"is no better: the known-good kernel too loses packets: {lost}"
        finally:
            machine.power_off()
        return ""

    def _known_good(self) -> Path | None:
        """The kernel of testbeds.toml, else the last one that was measured here."""
        chosen = self._settings.known_good or self._proven
        return chosen if chosen.is_file() else None

    def _count(self) -> Blast:
        counted = self._counted()
        symbols = read_symbols(self._installed.kernel)
        functions = by_function(counted.executed, counted.packets, symbols)
        log = f"{counted.how}\n{as_table(functions)}"
        return Blast(values=counted.values, log=log)

    def _counted(self) -> Counted:
        tracer = self._tracing.tracer(self._running)
        return count(self._running, tracer, self._settings.counted)


_BUILD_ID = re.compile(r"^(?:build-id|kern\.build_id): ([0-9a-f]{8,64})\s*$", re.MULTILINE)


def _build_id_in(console: str) -> str:
    """The build ID that a kernel printed as it booted; empty if it did not."""
    match = _BUILD_ID.search(console)
    return match[1] if match else ""


_MACHINE = ("QEMU", "boot")  # the findings without which there is no machine


def _check_machine(
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
