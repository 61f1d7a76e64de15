"""One boot of the embedded testbed: its programs, and the value of a trial by them."""

import math
import re
import socket
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.metric import LATENCIES
from buildbot_bench.lab.drivers.child import CONTROL, PKTBLAST, ChildProcess, last_cpu, tools
from buildbot_bench.lab.loss_search import LossTrial

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

        `lockstep` is for the kernel alone: so many packets in so many bursts.
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


_PAIR = re.compile(
    r"cpu_clock \[\d+\] dut (\d{1,15}) pkts (\d{1,15}) nsec, "
    r"control (\d{1,15}) pkts (\d{1,15}) nsec",
    re.ASCII,
)
_TOTAL = re.compile(r"^(Sent|Received|Damaged) (\d{1,15}) packets", re.MULTILINE | re.ASCII)
_WARM_UP_PAIRS = 10  # at the beginning, which are not counted
_MOST_LOST = 0.1  # of the packets; chosen: a forwarder that drops more does other work


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficTurn:
    """A pair of turns: packets that passed, and processor time used in nanoseconds."""

    dut_packets: int
    dut_ns: int
    control_packets: int
    control_ns: int

    @property
    def counts(self) -> bool:
        """Whether both of them forwarded."""
        return min(self.dut_packets, self.dut_ns, self.control_packets, self.control_ns) > 0

    @property
    def ratio(self) -> float:
        """Packets per processor time of the DUT, where the control's are 1."""
        return self.dut_packets * self.control_ns / (self.dut_ns * self.control_packets)


def parse_turns(log: str) -> list[TrafficTurn]:
    """All pairs in a sender's log."""
    return [
        TrafficTurn(
            dut_packets=int(match[1]),
            dut_ns=int(match[2]),
            control_packets=int(match[3]),
            control_ns=int(match[4]),
        )
        for match in _PAIR.finditer(log)
    ]


def relative_efficiency(turns: list[TrafficTurn]) -> float:
    """The DUT's packets per processor time, where the control's are 1."""
    ratios = [turn.ratio for turn in turns[_WARM_UP_PAIRS:] if turn.counts]
    if not ratios:
        raise InfraError(
            f"of {len(turns)} turns not one is usable",
            hint="the machine is overloaded, or duration_s is too short",
        )
    return statistics.median(ratios)


def check_traffic(receiver_log: str, sender_log: str, turns: list[TrafficTurn]) -> None:
    """Refuse a kernel that passes nothing, or loses or damages packets: its speed says nothing."""
    totals = {match[1]: int(match[2]) for match in _TOTAL.finditer(sender_log + receiver_log)}
    if not totals.keys() >= {"Sent", "Received", "Damaged"}:
        raise InfraError("the sender died before its end")
    sent, damaged = totals["Sent"], totals["Damaged"]
    if not any(turn.control_packets for turn in turns):
        raise InfraError("the control forwarder passes no traffic")
    if damaged > 0:
        raise UntestableRevision(f"the kernel damaged {damaged} of {sent} packets")
    if totals["Received"] == 0:
        raise UntestableRevision("the kernel passes no traffic")
    lost = sent - totals["Received"]
    if lost > _MOST_LOST * sent:
        raise UntestableRevision(f"the kernel lost {lost} of {sent} packets")


TICK_S = 0.0005
"""What a burst stands for, in seconds.

Chosen: Linux' queue holds 256 packets where nobody says otherwise, those of 0.7 ms at the control's
rate, so that the kernel's pace decides and not the system's default.
"""
LATENCY_PACKETS = 320  # chosen: ten batches of 32, of which each packet takes 6 ms to be seen late
_BURST = re.compile(r" burst \[\d+\] sent (\d{1,9}) pkts, back (\d{1,9}) pkts", re.ASCII)
_ALL = re.compile(r"^Received (\d{1,15}) packets", re.MULTILINE | re.ASCII)


def offered(
    send: Callable[[int, int], tuple[str, str]], *, pace_pps: float
) -> Callable[[float, float], LossTrial]:
    """What offers one rate for a time, by which rates without loss are searched.

    `send` sends packets in bursts and returns the receiver's log and the sender's. A burst is what
    arrives in TICK_S, and the next one waits until it is forwarded: of paced traffic a busy machine
    would lose what the kernel does not. Lost is what the queue does not hold, counted, and what the
    kernel has no time for, calculated from its pace on the control's scale.
    """

    def offer(rate_pps: float, duration_s: float) -> LossTrial:
        bursts = max(1, round(duration_s / TICK_S))
        wanted = round(rate_pps * bursts * TICK_S)
        receiver_log, sender_log = send(wanted, bursts)
        sent = sum(count for count, _ in parse_bursts(sender_log))
        if sent < wanted or not (arrived := _ALL.search(receiver_log)):
            raise InfraError(f"the sender sent {sent} of {wanted} packets")
        received = min(int(arrived[1]), sent)
        in_time = round(pace_pps * bursts * TICK_S)
        dropped = {"queue dropped": sent - received} if received < sent else {}
        return LossTrial(
            rate_pps=rate_pps,
            duration_s=bursts * TICK_S,
            wanted=wanted,
            sent=sent,
            received=min(received, in_time),
            counters=dropped,
        )

    return offer


def parse_bursts(sender_log: str) -> list[tuple[int, int]]:
    """The packets of each burst, and those that came back before the next one."""
    return [(int(one[1]), int(one[2])) for one in _BURST.finditer(sender_log)]


def held_back(back: Sequence[int]) -> list[int]:
    """For each packet that came back, in order, how many later ones had to be sent before it did.

    `back` is how many came back after each packet that was sent alone.
    """
    turns = [turn for turn, count in enumerate(back) for _ in range(count)]
    return [max(0, turn - packet) for packet, turn in enumerate(turns)]


def latencies(sender_log: str, *, pace_pps: float, rate_pps: float) -> dict[str, float]:
    """The quantiles of packets' latencies in microseconds, by unit, at that rate.

    Calculated: so many later packets as had to come first, times their interval, and the time of
    one at the kernel's pace. What a kernel waits for by the clock is not in it.
    """
    held = sorted(held_back([back for _, back in parse_bursts(sender_log)]))
    if not held:
        raise InfraError("no packet of those sent one at a time came back")
    return {
        metric.unit: 1e6 * (held[math.ceil(share * len(held)) - 1] / rate_pps + 1 / pace_pps)
        for share, metric in LATENCIES.items()
    }
