"""The value of a trial on the embedded testbed, taken from turns of traffic and from lock-step."""

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.metric import LATENCIES
from buildbot_bench.lab.loss_search import LossTrial

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
