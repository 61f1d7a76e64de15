"""One boot of a virtual DUT: QEMU's process, which is its power, and all that leads into it.

Nothing has a name that others could use: wires and monitor are sockets that only this process and
QEMU hold. A machine that is told to reset itself ends instead, so that a panic and a boot loop are
seen, and each boot reads the kernel anew.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.drivers.child import Child, last_cpu
from buildbot_bench.lab.virtual.frames import PORTS
from buildbot_bench.lab.virtual.monitor import Monitor
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.wires import Wires

_BLAST_S = 300.0
_OUTPUT_LIMIT = 1 << 28  # bytes; a blast that is traced takes some 18 million
# mitigation: interrupts would come by a clock, and not when packets do.
_PORT = "e1000,netdev=port{n},mac={mac},mitigation=off,romfile="
_FIXED = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-smp", "1"]
_EXACT = ["-icount", "shift=0,sleep=off", "-rtc", "base=2024-01-01,clock=vm"]


class Machine:
    """A virtual machine that was switched on; InfraError when there is no QEMU to do it."""

    def __init__(
        self,
        settings: QemuSettings,
        kernel: Path,
        home: Path,
        *,
        accelerator: str = "tcg",
        tunables: Sequence[str] = (),
    ) -> None:
        self.cpu = last_cpu()
        self._console = home / "logs" / "console.out"
        self._console.parent.mkdir(parents=True, exist_ok=True)
        self._console.write_bytes(b"")
        ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
        self.wires = Wires(ours[0], ours[1], settings.stall_s)
        self.monitor = Monitor(ours[2])
        try:
            command = [str(qemu(settings.program, home)), *_FIXED, "-accel", accelerator]
            command += ["-m", str(settings.memory_mib), "-serial", f"file:{self._console}"]
            command += _connections([end.fileno() for end in theirs])
            command += ["-kernel", str(kernel), "-append", " ".join(tunables)]
            self._child = Child(
                command + (_EXACT if settings.exact else []),
                home / "logs" / "qemu.out",
                cpu=self.cpu,
                lifetime_s=settings.boot_timeout_s + _BLAST_S,
                pass_fds=[end.fileno() for end in theirs],
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

    def power_off(self) -> None:
        """End it, whatever it does."""
        self._child.kill()
        self._hang_up()

    def _hang_up(self) -> None:
        self.wires.close()
        self.monitor.close()


def qemu(program: str, home: Path) -> Path:
    """A link to QEMU by which it is started: leftovers of this testbed are known by its place.

    Raises InfraError when there is no such program.
    """
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


def _connections(descriptors: Sequence[int]) -> list[str]:
    """The DUT's two ports and QEMU's monitor, each at a socket that it inherits."""
    *ports, monitor = descriptors
    arguments = ["-chardev", f"socket,id=monitor,fd={monitor}"]
    arguments += ["-mon", "chardev=monitor,mode=control"]
    for n, (descriptor, address) in enumerate(zip(ports, PORTS, strict=True)):
        wire = f"stream,id=port{n},addr.type=fd,addr.str={descriptor}"
        arguments += ["-netdev", wire, "-device", _PORT.format(n=n, mac=address.hex(":"))]
    return arguments
