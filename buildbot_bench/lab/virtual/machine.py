"""One boot of a virtual DUT: QEMU's process, wires, monitor, console; whether QEMU boots here."""

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.drivers.child import ChildProcess, last_cpu
from buildbot_bench.lab.hardware.boot_watch import panic_in
from buildbot_bench.lab.virtual.bursts import IPV4, PORTS, BurstTraffic, Lost, Wires
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.system import System
from buildbot_bench.lab.virtual.trace import Plugin
from buildbot_bench.programs import output_of

_DEADLINE_S = 20.0  # for an answer of QEMU's, on a machine however busy


class Monitor:
    """QEMU's monitor at the other end of a connected socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.settimeout(_DEADLINE_S)
        self._lines = connection.makefile("rb")
        self._greeted = False

    def command(self, line: str) -> str:
        """Run one of the monitor's own commands; returns what it printed.

        Raises Lost when QEMU does not answer, InfraError when it has no such command.
        """
        if not self._greeted:
            self._execute({"execute": "qmp_capabilities"})
            self._greeted = True
        arguments = {"command-line": line}
        return self._execute({"execute": "human-monitor-command", "arguments": arguments})

    def close(self) -> None:
        """Hang up."""
        self._lines.close()
        self._connection.close()

    def _execute(self, request: dict[str, Any]) -> str:
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            while line := self._lines.readline():
                answer = json.loads(line)
                if "return" in answer:
                    return str(answer["return"])
                if "error" in answer:
                    raise InfraError(f"QEMU refuses {request}: {answer['error']}")
        except (OSError, ValueError, RecursionError) as error:
            raise Lost(f"QEMU's monitor does not answer: {error}") from error
        raise Lost("QEMU's monitor hung up")


# What may come after a boot; the latter where QEMU logs each instruction of a blast and a capture.
_BLAST_S, _LOGGED_BLAST_S = 300.0, 1800.0
_OUTPUT_LIMIT = 1 << 28  # bytes; a burst that is logged takes some 22 million
# mitigation: interrupts would come by a clock, and not when packets do.
_DEVICES = {"em": "e1000,mitigation=off,romfile=", "vtnet": "virtio-net-pci,romfile="}
# By default another thread of QEMU sends what vtnet has ready, whenever it comes to that: bursts of
# FreeBSD 13.1 took 2600 to 3700 instructions per packet. Now the guest's clock says when.
_WHEN_EXACT = {"em": "", "vtnet": ",ioeventfd=off,tx=timer"}
_FIXED = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-smp", "1"]
_CLOCK = ["-rtc", "base=2024-01-01,clock=vm"]


class VirtualMachine:
    """A virtual machine that was switched on; InfraError when there is no QEMU to do it.

    It closes a plugin that it was given when it is switched off.
    """

    def __init__(
        self,
        settings: QemuSettings,
        boot: Sequence[str],
        home: Path,
        *,
        accelerator: str = "tcg",
        traffic: BurstTraffic = IPV4,
        plugin: Plugin | None = None,
    ) -> None:
        self.plugin = plugin
        logged = settings.exact and plugin is None
        self.cpu = last_cpu()
        self._console = home / "logs" / "console.out"
        self._keyboard = home / "logs" / "console.in"
        # An empty file that QEMU writes to, so that no kernel waits for a reader, and a pipe
        self._console.parent.mkdir(parents=True, exist_ok=True)
        self._console.write_bytes(b"")
        self._keyboard.unlink(missing_ok=True)
        os.mkfifo(self._keyboard, 0o600)
        ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
        self.wires = Wires(ours[0], ours[1], settings.stall_s, traffic)
        self.monitor = Monitor(ours[2])
        try:
            command = [str(qemu(settings.program, home)), *_FIXED, "-accel", accelerator]
            command += ["-m", str(settings.ram_mib)]
            *ports, monitor = (end.fileno() for end in theirs)
            command += _ports(_device(settings), ports) + _terminals(monitor, self._console)
            command += [*boot, *(["-icount", settings.clock, *_CLOCK] if settings.exact else [])]
            inherited = [end.fileno() for end in theirs]
            if plugin is not None:
                command += loading(plugin)
                inherited.append(plugin.descriptor)
            self._child = ChildProcess(
                command,
                home / "logs" / "qemu.out",
                cpu=self.cpu,
                lifetime_s=settings.boot_limit_s + (_LOGGED_BLAST_S if logged else _BLAST_S),
                pass_fds=inherited,
                output_limit=_OUTPUT_LIMIT,
            )
        except (OSError, InfraError) as error:
            self._hang_up()
            raise InfraError(f"cannot start QEMU: {error}") from error
        finally:
            for end in theirs:
                end.close()

    def ending(self) -> str | None:
        """How QEMU ended, in words; None as long as it runs."""
        return self._child.ending()

    def ends_within(self, limit_s: float) -> bool:
        """Whether QEMU ends, or has ended: a guest's last word comes before its machine's end."""
        return self._child.wait(limit_s)

    def complaint(self) -> str:
        """What QEMU itself had to say."""
        return self._child.errors().strip()

    def console(self) -> str:
        """What the kernel printed so far."""
        return self._console.read_text(encoding="utf-8", errors="replace")

    def type(self, line: str) -> None:
        """Enter a line at the console; what comes of it is printed there."""
        with suppress(OSError):  # QEMU has ended, which is seen elsewhere
            descriptor = os.open(self._keyboard, os.O_WRONLY | os.O_NONBLOCK)
            try:
                os.write(descriptor, line.encode() + b"\r")
            finally:
                os.close(descriptor)

    def power_off(self) -> None:
        """End it, no matter what it does."""
        self._child.kill()
        self._hang_up()

    def _hang_up(self) -> None:
        self.wires.close()
        self.monitor.close()
        if self.plugin is not None:
            self.plugin.close()


def qemu(program: str, home: Path) -> Path:
    """A link to QEMU by which it is started: leftovers of this testbed are known by its place."""
    found = shutil.which(program)
    if found is None:
        raise InfraError(
            f"there is no {program}",
            hint="apt-get install qemu-system-x86, pkg install qemu, or name it as `program`",
        )
    link = home / "bin" / "qemu"
    if not link.exists() or link.readlink() != Path(found):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(found)
    return link


def option_value(path: Path) -> str:
    """A path within one of QEMU's options, in which a comma ends a value and two stand for one."""
    return str(path).replace(",", ",,")


def loading(plugin: Plugin) -> list[str]:
    """QEMU's arguments that load a plugin."""
    return ["-plugin", f"file={option_value(plugin.library)},shared={plugin.descriptor}"]


def _device(settings: QemuSettings) -> str:
    return _DEVICES[settings.nic] + (_WHEN_EXACT[settings.nic] if settings.exact else "")


def _ports(kind: str, descriptors: Sequence[int]) -> list[str]:
    arguments = []
    for n, (descriptor, address) in enumerate(zip(descriptors, PORTS, strict=True)):
        wire = f"stream,id=port{n},addr.type=fd,addr.str={descriptor}"
        device = f"{kind},netdev=port{n},mac={address.hex(':')}"
        arguments += ["-netdev", wire, "-device", device]
    return arguments


def _terminals(monitor: int, console: Path) -> list[str]:
    arguments = ["-chardev", f"socket,id=monitor,fd={monitor}"]
    arguments += ["-mon", "chardev=monitor,mode=control"]
    both = option_value(console.with_suffix(""))
    return [*arguments, "-chardev", f"pipe,id=console,path={both}", "-serial", "chardev:console"]


_SHOWN = 120  # characters of a line
_LAST_LINES = 5  # lines


def last_lines(console: str) -> str:
    """The last lines that are not empty, in one; for an error that somebody must fix."""
    lines = [line.strip()[:_SHOWN] for line in console.splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:]) or "nothing"


def last_words(console: str) -> str:
    """A panic, or else the last line that is not empty, in a clause; empty for a silent one."""
    if panic := panic_in(console):
        return panic[:_SHOWN]
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    return f"its last words: {lines[-1][:_SHOWN]}" if lines else "its console stayed silent"


_LAST_GASP_S = 1.0  # that a machine may take to go off after its wires fell silent
_LOOK_S = 0.02  # between two looks at a console
_BY_OTHERS = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")


def await_forwarding(machine: VirtualMachine, system: System, limit_s: float) -> str:
    """Wait until packets come through; what happened instead, in a clause, or nothing."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        console = machine.console()
        if fault := system.fault(console):
            return fault
        if not system.is_ready(console):
            time.sleep(_LOOK_S)
        elif machine.wires.answers():
            machine.wires.settle()
            return ""
        if machine.ending():
            return _ended(machine)
    return f"forwarded nothing within {limit_s:g} s ({last_words(machine.console())})"


def fate(machine: VirtualMachine, lost: Lost) -> str:
    """What became of a kernel that forwarded until now, in a clause."""
    if machine.ends_within(_LAST_GASP_S):
        return _ended(machine)
    return f"did not do its work: {lost} ({last_words(machine.console())})"


def _ended(machine: VirtualMachine) -> str:
    """How a machine went off that nobody switched off, in a clause.

    QEMU ends with status 0 when its guest resets itself, and with another one when it cannot or
    will not boot what it was given.
    """
    ending = machine.ending() or ""
    if ending.endswith(_BY_OTHERS):
        raise InfraError(f"QEMU {ending}", hint="who did that? memory may have run out")
    if ending != "ended with status 0":
        return f"was no more: QEMU {ending} ({machine.complaint()[-300:]})"
    return f"reset the machine ({last_words(machine.console())})"


KVM_DEVICE = Path("/dev/kvm")
# It takes half a second, and several on a busy machine; a KVM that is emulated itself may take ten.
_PROBE_S, _KVM_PROBE_S = 60.0, 5.0
PROBE_WORD = b"booted\n\0"
_CODE = bytes.fromhex(
    "31c0 8ed8"  # xor ax, ax; mov ds, ax
    "be167c"  # mov si, the word behind the code
    "baf803"  # mov dx, the serial port
    "ac 84c0 7403 ee ebf8"  # each byte of the word to the port
    "fa f4 ebfc"  # cli; hlt, for ever
)
PROBE_READS_AT = 0x7C00 + _CODE.index(b"\xac")  # lodsb, which takes a byte of the word
# A boot sector: 512 bytes and its magic.
_SECTOR = (_CODE + PROBE_WORD).ljust(510, b"\0") + b"\x55\xaa"


def boots(
    program: str,
    home: Path,
    accelerator: str,
    limit_s: float = _PROBE_S,
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
        return child.wait_until(lambda: PROBE_WORD[:-1] in console.read_bytes(), limit_s)
    finally:
        child.kill()


def kvm_works(program: str, home: Path) -> bool:
    """Whether guests run by KVM here, and do not hang or crawl where its device opens."""
    return os.access(KVM_DEVICE, os.R_OK | os.W_OK) and boots(program, home, "kvm", _KVM_PROBE_S)


_VERSION_S = 20.0  # for `qemu --version`, on a machine however busy
_VERSION = re.compile(r"version (\d+)\.(\d+)")
_OLDEST = (7, 2)  # the first with -netdev stream


def qemu_version(program: str, home: Path) -> str:
    """What QEMU calls itself."""
    told = output_of([str(qemu(program, home)), "--version"], deadline_s=_VERSION_S)
    name = told.partition("\n")[0].strip()
    version = _VERSION.search(name)
    if version and (int(version[1]), int(version[2])) < _OLDEST:
        raise InfraError(f"{name} has no stream network", hint="install QEMU 7.2 or newer")
    return name
