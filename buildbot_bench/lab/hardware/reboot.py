"""One reboot of a machine, from the order to go down until it is ready, with what it prints."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.boot_watch import (
    Alive,
    BootProgress,
    BootWatch,
    alive_script,
    in_debugger,
    loops,
    panic_in,
    parse_alive,
)
from buildbot_bench.lab.hardware.remote import Remote, Unreachable
from buildbot_bench.lab.hardware.settings import Command, ConsoleSettings, Limits
from buildbot_bench.lab.hardware.traffic import counted_packets
from buildbot_bench.lab.power import Power

_LIMIT = 64 * 1024  # bytes of what was said last


class Console:
    """Reads a command's output or a growing file; without either it reads nothing."""

    def __init__(self, settings: ConsoleSettings, log: Path) -> None:
        self._settings = settings
        self._log = log
        self._offset = 0
        self._marked = 0
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Forget what was said so far."""
        self.end()
        self._marked = 0
        if self._settings.command:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("wb") as file:
                try:
                    self._process = subprocess.Popen(  # noqa: S603 - a list, no shell
                        list(self._settings.command),
                        stdin=subprocess.DEVNULL,
                        stdout=file,
                        stderr=subprocess.STDOUT,
                    )
                except OSError as error:
                    raise InfraError(f"cannot read the console: {error}") from error
            self._offset = 0
        elif self._settings.file is not None:
            self._offset = self._settings.file.stat().st_size if self._settings.file.exists() else 0

    def mark(self) -> None:
        """Let `recent` begin here."""
        self._marked = len(self._said())

    def recent(self) -> str:
        """What was said since `mark`."""
        return _readable(self._said()[self._marked :])

    def text(self) -> str:
        """What was said since `begin`, the end of it if it is long."""
        return _readable(self._said())

    def _said(self) -> bytes:
        path = self._log if self._settings.command else self._settings.file
        if path is None or not path.exists():
            return b""
        with path.open("rb") as file:
            file.seek(self._offset if path.stat().st_size >= self._offset else 0)
            return file.read()

    def end(self) -> None:
        """Stop the console's command; what it said stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _readable(said: bytes) -> str:
    return said[-_LIMIT:].decode("utf-8", errors="replace").replace("\r", "")


KERNEL_SCRIPT = "sysctl -n kern.bootfile"

_OUTCOMES = {BootProgress.ARRIVED, BootProgress.FELL_BACK, BootProgress.LOOPS}
_SILENCE = {BootProgress.LOADER, BootProgress.LEAVING}


class KernelFault(Exception):  # noqa: N818 - a suspicion, not yet an error of anybody
    """The kernel seems to be at fault; the lab is not cleared yet.

    `fell_back` is set when another kernel came up and nothing shows that this one ever ran.
    """

    def __init__(self, message: str, *, fell_back: bool = False) -> None:
        super().__init__(message)
        self.fell_back = fell_back


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteMachine:
    """What it takes to reboot a machine. `ready` are the commands by which it shows that it is.

    They send packets, which a rule of `firewall` must count, if it has one. `tell` hears what is
    being done. `script` prints what runs, by default the kernel's file.
    """

    remote: Remote
    limits: Limits
    console: Console
    tell: Callable[[str], None]
    ready: Sequence[Command] = ()
    firewall: str = ""
    power: Power | None = None
    script: str = KERNEL_SCRIPT

    def look(self, *, shared: bool = True) -> Alive | None:
        """What it runs now; None when it does not answer.

        A shared connection that leads nowhere is given up, and one of its own tried.
        """
        limit_s = self.limits.connect_s + self.limits.keep_alive_s
        command = ("sh", "-c", alive_script(self.script))
        asked_s = time.monotonic()
        try:
            reply = self.remote.run(*command, deadline_s=limit_s, shared=shared).stdout
        except Unreachable:
            self.remote.hang_up()
            return self.look(shared=False) if shared else None
        return parse_alive(reply, asked_s, time.monotonic())

    def restart(self) -> None:
        """Boot the kernel that runs once more."""
        before = self.look()
        if before is None:
            raise InfraError(f"{self.remote.address} does not answer")
        self.go_down()
        try:
            self.reach(before, before.bootfile)
        except KernelFault as fault:
            raise InfraError(f"{self.remote.address}: {fault}") from fault

    def go_down(self) -> None:
        """Ask for a reboot; whether it happens is seen later."""
        self.console.mark()
        try:
            self.remote.need("shutdown", "-r", "now")
        except Unreachable:
            self.tell("ssh was lost as the DUT went down")
        self.remote.hang_up()

    def cycle_power(self) -> None:
        """Take the power away and give it back."""
        if self.power is None:
            raise KernelFault("there is no power driver to bring it back")
        self.tell(f"power-cycling {self.remote.address}")
        self.console.mark()
        self.power.cycle()
        self.remote.hang_up()

    def reach(self, before: Alive | None, wanted: str) -> Alive:
        """Wait for a reboot's outcome, taking the power away when there is none.

        Raises KernelFault, with all that was seen, when it is not `wanted`, and ready.
        """
        watch, troubles = BootWatch(before, wanted), list[str]()
        for cycle in range(self.limits.power_cycles + 1):
            if cycle:
                self.cycle_power()
            progress = self._await_outcome(watch)
            if progress is BootProgress.ARRIVED:
                return self.await_ready(watch)
            troubles.append(self._describe(progress))
            if progress not in _SILENCE or self.power is None:
                break
        text = ", then ".join(troubles)
        if progress is BootProgress.LEAVING:  # the kernel was never tried
            raise InfraError(
                f"the DUT {text}: its shutdown hangs", hint="give it a power driver, or look there"
            )
        silent = text == BootProgress.FELL_BACK  # no hang before it, and no panic on the console
        raise KernelFault(f"the DUT {text}", fell_back=silent)

    def _await_outcome(self, watch: BootWatch) -> BootProgress:
        end_s = time.monotonic() + self.limits.reboot_s
        progress = BootProgress.LEAVING
        while time.monotonic() < end_s:
            progress = watch.saw(self.look(shared=False))
            said = self.console.recent()
            if loops(said):
                return BootProgress.LOOPS
            if progress in _OUTCOMES or in_debugger(said):
                return progress
            time.sleep(self.limits.poll_s)
        return progress

    def await_ready(self, watch: BootWatch) -> Alive:
        """Wait until each readiness command succeeds; KernelFault when that takes too long."""
        end_s = time.monotonic() + self.limits.ready_s
        self.tell("waiting until it is ready")
        while True:
            complaint = self._not_ready()
            alive = self.look()
            progress = watch.saw(alive)
            if progress in {BootProgress.FELL_BACK, BootProgress.LOOPS}:
                raise KernelFault(f"the DUT {self._describe(progress)} before it was ready")
            if alive is not None and not complaint:
                return alive
            if time.monotonic() > end_s or in_debugger(self.console.recent()):
                said = panic_in(self.console.recent()) or complaint or str(progress)
                raise KernelFault(f"the DUT was not ready after {self.limits.ready_s:g} s: {said}")
            time.sleep(self.limits.poll_s)

    def _not_ready(self) -> str:
        try:
            return self._unfiltered() if self.firewall else self._failing_command()
        except Unreachable as error:
            return error.message

    def _failing_command(self) -> str:
        """What the first of the readiness commands that fails says; empty when all succeed."""
        for command in self.ready:
            answer = self.remote.run(*command)
            if answer.status != 0:
                return f"{' '.join(command)}: {answer.complaint}"
        return ""

    def _unfiltered(self) -> str:
        """The same, or that no rule of the firewall counted their packets."""
        before = counted_packets(self.remote, self.firewall)
        if isinstance(before, str):
            return before
        complaint = self._failing_command()
        after = counted_packets(self.remote, self.firewall)
        if isinstance(after, str):
            return complaint or after
        counted = after - before
        return complaint or ("" if counted > 0 else f"no rule of {self.firewall} counted a packet")

    def _describe(self, progress: BootProgress) -> str:
        if progress in _SILENCE:
            text = f"{progress} after {self.limits.reboot_s:g} s"
        else:
            text = str(progress)
        panic = panic_in(self.console.recent())
        return f"{text} ({panic})" if panic else text
