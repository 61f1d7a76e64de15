"""Trials in lock-step: what a kernel loses or holds back, whatever else its processor does.

All of the embedded testbed is on one processor: of paced traffic a busy machine would lose packets
that the kernel does not. A rate is therefore offered in bursts of what arrives in TICK_S, each of
which the kernel finds in its queue as a whole, and the next one waits until it is forwarded. Two
kinds of packets are lost: those that the queue does not hold, which are counted, and those that the
kernel would not have the time for, which are calculated from its pace, its packets per second of
its own processor time on the control's scale (see turns.py).

For latency packets come one at a time. That of a packet is calculated, too: so many later packets
as had to come before it went on, times the interval between packets, and the time of a packet at
the kernel's pace. What a kernel waits for by the clock is not in it.
"""

import math
import re
from collections.abc import Callable, Sequence

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import LATENCIES
from buildbot_bench.lab.loss_search import LossTrial

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

    `send` sends packets in bursts and returns the receiver's log and the sender's.
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
    """The quantiles of packets' latencies in microseconds, by unit, at that rate."""
    held = sorted(held_back([back for _, back in parse_bursts(sender_log)]))
    if not held:
        raise InfraError("no packet of those sent one at a time came back")
    return {
        metric.unit: 1e6 * (held[math.ceil(share * len(held)) - 1] / rate_pps + 1 / pace_pps)
        for share, metric in LATENCIES.items()
    }
