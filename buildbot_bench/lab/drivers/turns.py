"""The DUT's efficiency relative to the control's, from their turns of traffic.

A pair of turns lies within a few milliseconds, during which the machine's speed is constant: the
ratio of both costs per packet is the DUT's own. The median over all pairs drops disturbed ones.
"""

import re
import statistics
from dataclasses import dataclass

from buildbot_bench.core.errors import InfraError, UntestableRevision

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
