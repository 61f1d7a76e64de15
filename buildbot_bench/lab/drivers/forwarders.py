"""The programs of one boot of the embedded testbed, all on one processor."""

import re
import socket
from collections.abc import Mapping
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.drivers.child import CONTROL, PKTBLAST, ChildProcess, last_cpu, tools

KERNEL = "kernel"
# A busy machine takes longer than a blast lasts: so many seconds, and so many times as long.
_MARGIN_S = 20.0
_STRETCH = 4.0  # times a blast's length
# Of the receiver: more than the largest burst in lock-step. Where Linux gives no more than its
# default, net.core.rmem_max, 512 packets are held.
_RECEIVE_BYTES = 1 << 20
_LISTENING = re.compile(r"listening on port (\d{1,5})\b", re.ASCII)


class Forwarders:
    """What runs now; `close` ends all of it, and may be called often."""

    def __init__(self, home: Path, *, boot_timeout_s: float) -> None:
        self._home = home
        self._boot_timeout_s = boot_timeout_s
        self._receiver: socket.socket | None = None
        self._children: dict[str, ChildProcess] = {}
        self._ports: dict[str, str] = {}
        self.cpu = last_cpu()

    def open_receiver(self) -> None:
        """The receiving socket exists before the kernel does, so that its port cannot be lost."""
        try:
            self._receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
            self._receiver.bind(("127.0.0.1", 0))
        except OSError as error:
            raise InfraError(f"no port on the loopback interface: {error}") from error

    def start_control(self, *, lasting_s: float) -> str:
        """Start the forwarder that never changes; the port on which it takes traffic."""
        try:
            self.start(CONTROL, tools(self._home) / CONTROL, lasting_s=lasting_s)
        except OSError as error:
            raise InfraError(
                f"cannot start the control forwarder: {error}",
                hint="programs must be allowed to run in the state directory",
            ) from error
        if not self.await_port(CONTROL):
            raise InfraError(f"the control forwarder does not start: {self.said(CONTROL)[-500:]}")
        return self._ports[CONTROL]

    def start(
        self,
        name: str,
        program: Path,
        environment: Mapping[str, str] | None = None,
        *,
        lasting_s: float,
    ) -> None:
        """Start a forwarder for a blast of that length; OSError for what is no program."""
        assert self._receiver is not None  # noqa: S101 - boot opens it first
        self.kill(name)
        self._children[name] = self._child(
            name,
            [str(program), "--forward-to", str(self._receiver.getsockname()[1])],
            lifetime_s=self._boot_timeout_s + 2 * _patience_s(lasting_s),
            environment=environment,
        )

    def await_port(self, name: str) -> bool:
        """Whether a forwarder says in time on which port it takes traffic."""
        child = self._children[name]

        def listening() -> bool:
            if match := _LISTENING.search(child.output()):
                self._ports[name] = match[1]
            return name in self._ports and child.ending() is None

        return child.wait_until(listening, self._boot_timeout_s)

    def blast(
        self, duration_s: float, *, flows: int, lockstep: tuple[int, int] | None = None
    ) -> tuple[ChildProcess, str]:
        """Let kernel and control take turns; the sender, and what was amiss with it if anything.

        `lockstep` is for the kernel alone: so many packets in so many bursts (lockstep.py).
        """
        assert self._receiver is not None  # noqa: S101 - boot opened it
        descriptor = self._receiver.fileno()
        command = [str(tools(self._home) / PKTBLAST), str(descriptor)]
        command.append(str(int(duration_s * 1000)))
        for name in (KERNEL, CONTROL):
            command += [self._ports[name], str(self._children[name].pid)]
        command += [str(number) for number in (flows, *(lockstep or ()))]
        lifetime_s = 2 * _patience_s(duration_s)
        sender = self._child(PKTBLAST, command, lifetime_s=lifetime_s, pass_fds=[descriptor])
        self._children[PKTBLAST] = sender
        in_time = sender.wait(_patience_s(duration_s))
        if in_time and sender.ending() == "ended with status 0":
            return sender, ""
        how = sender.ending() or "came to no end"
        return sender, f"the sender {how}: {sender.errors()[-500:]}"

    def pid(self, name: str) -> int:
        """A program's process."""
        return self._children[name].pid

    def ending(self, name: str) -> str | None:
        """How a program ended, in words; None as long as it runs."""
        return self._children[name].ending()

    def said(self, name: str) -> str:
        """What a program wrote; empty for one that does not run."""
        child = self._children.get(name)
        return "" if child is None else child.output() + child.errors()

    def kill(self, name: str) -> None:
        """End a program, if it runs."""
        if child := self._children.pop(name, None):
            child.kill()
        self._ports.pop(name, None)

    def close(self) -> None:
        """End everything."""
        for name in list(self._children):
            self.kill(name)
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None

    def _child(
        self,
        name: str,
        command: list[str],
        *,
        lifetime_s: float,
        pass_fds: list[int] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> ChildProcess:
        logs = self._home / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return ChildProcess(
            command,
            logs / f"{name}.out",
            cpu=self.cpu,
            lifetime_s=lifetime_s,
            pass_fds=pass_fds or [],
            environment=environment,
        )


def _patience_s(duration_s: float) -> float:
    return _STRETCH * duration_s + _MARGIN_S
