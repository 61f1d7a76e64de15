"""A testbed in a virtual machine: kernels that boot, panic, hang, and forward between two NICs.

DUT is a QEMU process, its power and its console included; sender and receiver are this process, at
the other ends of the DUT's wires. Nothing needs a privilege. A kernel is a file that QEMU boots
(`-kernel`): a Multiboot program or a Linux image. One that prints `build-id: ` and the linker's
build ID is known by it.

A fault is the kernel's only when a kernel that is known to work then does what the other did not.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.profile import EXECUTED, Profile
from buildbot_bench.lab.driver import Blast, Finding
from buildbot_bench.lab.drivers.child import kill_leftovers
from buildbot_bench.lab.files import copy_verified, sha256
from buildbot_bench.lab.virtual.checkup import check_machine, qemu_version
from buildbot_bench.lab.virtual.console import build_id_in, last_words
from buildbot_bench.lab.virtual.counting import instructions_per_packet, measure_pps, trace_bursts
from buildbot_bench.lab.virtual.elf import read_symbols
from buildbot_bench.lab.virtual.frames import PACKETS
from buildbot_bench.lab.virtual.machine import Machine
from buildbot_bench.lab.virtual.probe import boots, kvm_works
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.trace import Executed, as_table, by_function
from buildbot_bench.lab.virtual.wires import Lost

_WORKLOADS = ("forwarding",)
_CONSOLE_LIMIT = 8000
_LAST_GASP_S = 1.0
_BY_OTHERS = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")


class QemuDriver:
    """Drives one virtual machine; `tell` hears what is being done."""

    def __init__(
        self, settings: QemuSettings, home: Path, tell: Callable[[str], None] = lambda _text: None
    ) -> None:
        self._settings = settings
        self._home = home
        self._tell = tell
        self._kernel = home / "boot" / "kernel"
        self._proven = home / "boot" / "known-good"
        self._digest = ""
        self._tunables: tuple[str, ...] = ()
        self._machine: Machine | None = None
        self._said = ""
        self._chosen = ""

    def workloads(self) -> tuple[str, ...]:
        """Plain forwarding."""
        return _WORKLOADS

    def check(self) -> list[Finding]:
        """QEMU, that it boots something, and the known-good kernel."""
        return check_machine(self._settings, self._home, self._known_good(), self._accelerator)

    def facts(self) -> dict[str, str]:
        """What a value depends on: QEMU, how it runs, and on what."""
        return {
            "machine": f"QEMU's pc, {self._settings.memory_mib} MiB, two 82540EM",
            "qemu": qemu_version(self._settings.program, self._home),
            "accelerator": self._accelerator(),
            "host": f"{platform.system()} {platform.release()} {platform.machine()}",
        }

    def prepare(self, workload: str) -> None:
        """All workloads have the same boots."""

    def install(self, artefact: Path, digest: str) -> None:
        """Put the kernel where the next boot finds it."""
        kill_leftovers(self._home)
        copy_verified(artefact, self._kernel, digest)
        self._digest = digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Write them on the kernel's command line, as a loader does."""
        self._tunables = tuple(tunables)

    def boot(self) -> None:
        """Switch the machine on and wait until a packet comes through it."""
        self._machine = self._start(self._kernel, self._tunables)
        if fault := self._await_forwarding(self._machine):
            self._blame(f"the kernel {fault} when it booted")

    def verify(self) -> None:
        """Compare the file's digest, and the build ID that the kernel printed with the file's."""
        found = sha256(self._kernel)
        if found != self._digest:
            raise InfraError(f"the DUT booted {found[:12]}, not {self._digest[:12]}")
        wanted, printed = read_symbols(self._kernel).build_id, build_id_in(self._running.console())
        if wanted and printed and printed != wanted:
            raise InfraError(f"the DUT runs build {printed[:12]}, not {wanted[:12]}")
        if wanted and not printed:
            raise UntestableRevision("the kernel does not say on its console which one it is")

    def blast(self, workload: str) -> Blast:
        """Send the traffic: packets per second, or instructions per packet by function."""
        if workload not in _WORKLOADS:
            raise InfraError(f"no such workload: {workload}")
        try:
            if self._settings.exact:
                blast = self._count()
            else:
                blast = measure_pps(self._running, self._settings.bursts)
        except Lost as lost:
            self._blame(f"the kernel {self._fate(lost)} under traffic")
        copy_verified(self._kernel, self._proven, self._digest)
        return blast

    def counter(self) -> str:
        """Instructions, each of them."""
        return EXECUTED

    def capture(self, workload: str) -> Profile:
        """Where the instructions of some bursts were executed."""
        del workload
        try:
            return by_function(self._executed(), read_symbols(self._kernel))
        except Lost as lost:
            raise InfraError(f"the kernel {self._fate(lost)} while it was traced") from lost

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
    def _running(self) -> Machine:
        if self._machine is None:
            raise InfraError("the DUT is off")
        return self._machine

    def _start(self, kernel: Path, tunables: Sequence[str] = ()) -> Machine:
        accelerator = self._accelerator()
        return Machine(
            self._settings, kernel, self._home, accelerator=accelerator, tunables=tunables
        )

    def _accelerator(self) -> str:
        if not self._chosen:
            wanted = self._settings.accelerator == "auto"
            works = wanted and kvm_works(self._settings.program, self._home)
            self._chosen = "kvm" if works else "tcg"
        return self._chosen

    def _await_forwarding(self, machine: Machine) -> str:
        """Wait until packets come through; what happened instead, in a clause, or nothing."""
        limit_s = self._settings.boot_timeout_s
        end_s = time.monotonic() + limit_s
        while time.monotonic() < end_s:
            if machine.wires.answers():
                machine.wires.settle()
                return ""
            if machine.ending():
                return _ended(machine)
        return f"forwarded nothing within {limit_s:g} s ({last_words(machine.console())})"

    def _fate(self, lost: Lost) -> str:
        """What became of a kernel that forwarded until now, in a clause."""
        machine = self._running
        if machine.ends_within(_LAST_GASP_S):
            return _ended(machine)
        return f"did not do its work: {lost} ({last_words(machine.console())})"

    def _blame(self, fault: str) -> NoReturn:
        """Find out whose fault it is: the known-good kernel's turn."""
        self.shutdown()
        good = self._known_good()
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
        machine = self._start(good)
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
        executed, bursts = self._executed(), self._settings.traced_bursts
        functions = by_function(executed, read_symbols(self._kernel))
        values = instructions_per_packet(executed, bursts)
        return Blast(values=values, log=as_table(functions, bursts * PACKETS))

    def _executed(self) -> Executed:
        log = self._home / "logs" / "trace"
        return trace_bursts(self._running, self._settings.traced_bursts, log)


def _ended(machine: Machine) -> str:
    """How a machine went off that nobody switched off, in a clause.

    QEMU ends with status 0 when its guest resets itself, and with another one when it cannot or
    will not boot what it was given. Raises InfraError when somebody else ended it.
    """
    ending = machine.ending() or ""
    if ending.endswith(_BY_OTHERS):
        raise InfraError(f"QEMU {ending}", hint="who did that? memory may have run out")
    if ending != "ended with status 0":
        return f"was no more: QEMU {ending} ({machine.complaint()[-300:]})"
    return f"reset the machine ({last_words(machine.console())})"
