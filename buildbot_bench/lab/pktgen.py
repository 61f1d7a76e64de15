"""The readings in pkt-gen's logs, by the rules of the netbenches archive.

The archive's value of a run: drop the log's first 15 and last 10 lines, keep the lines
`main_thread [n] P pps …` whose P does not start with 0, and take the median of P.
"""

import re
import statistics
from dataclasses import dataclass

HEAD_LINES = 15  # the archive's, as told above
TAIL_LINES = 10  # likewise
_LINE = re.compile(r"[0-9.]*\s*main_thread \[\d+\] (\d{1,15}) pps\b", re.ASCII)
_CRASH = re.compile(r"\bouch\b.*")
_SENT = re.compile(r"^Sent (\d{1,18}) packets\b", re.MULTILINE | re.ASCII)
_RECEIVED = re.compile(
    r"^Received (\d{1,18}) packets\b.* in (\d{1,9}\.\d{1,3}) seconds", re.MULTILINE | re.ASCII
)
_SPEED = re.compile(r"^Speed: (\d{1,15}(?:\.\d{1,9})?) ?([KMG]?)pps\b", re.MULTILINE | re.ASCII)
# lib/libc/stdlib/getopt.c; and what glibc says.
_REFUSED = re.compile(
    r"\b((?:(?:illegal|invalid) option|option requires an argument) -- '?(\S)'?)", re.ASCII
)
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}  # packets a second
_OPENED = re.compile(r"\breceiver_body \[\d+\] reading from ", re.ASCII)
_POLLED = re.compile(
    r"\breceiver_body \[\d+\] waiting for initial packets|\bmain_thread \[\d+\] \d+ pps", re.ASCII
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedOption:
    """The first option that a pkt-gen ended at, and what getopt(3) said of it."""

    option: str
    complaint: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a receiver counted: the median in pps, and the pps of each interval it is made of."""

    median_pps: float
    intervals_pps: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unusable:
    """Why a log gives no value; `nothing_came` is that the receiver was well and saw nothing."""

    reason: str
    nothing_came: bool = False


def parse_receiver(text: str) -> Reading | Unusable:
    """Read a receiver's log, no matter what is in it."""
    if early := _early_end(text, "receiver"):
        return early
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    every = _intervals(lines)
    if not every:
        return Unusable(reason="no data: the receiver reported not a single interval")
    if not any(every):
        return Unusable(reason="0 pps for the whole run", nothing_came=True)
    counting = _intervals(lines[HEAD_LINES:-TAIL_LINES])
    kept = tuple(pps for pps in counting if pps)
    if counting and not kept:
        reason = f"0 pps in each of the {len(counting)} seconds that count"
        return Unusable(reason=reason, nothing_came=True)
    if not kept:
        return Unusable(
            reason=f"truncated: nothing is left of {len(every)} intervals"
            " when the first 15 and the last 10 lines are dropped"
        )
    return Reading(median_pps=float(statistics.median(kept)), intervals_pps=kept)


def _early_end(text: str, end: str) -> Unusable | None:
    """Why pkt-gen ended before its time, if it says so."""
    if crash := _CRASH.search(text):
        return Unusable(reason=f"the {end} crashed: {crash[0].strip()[:200]}")
    if refused := refused_option(text):
        reason = f"the {end}'s pkt-gen does not take its options: {refused.complaint}"
        return Unusable(reason=reason)
    return None


def _intervals(lines: list[str]) -> list[int]:
    """Each interval's pps; 0 for what the archive's pattern refuses, also a leading zero."""
    found = [match[1] for line in lines if (match := _LINE.match(line))]
    return [0 if pps.startswith("0") else int(pps) for pps in found]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What a sender says at its end: packets, and its own mean speed in pps."""

    packets: int
    pps: float


def parse_sender(text: str) -> Sent | Unusable:
    """Read a sender's log, no matter what is in it."""
    if early := _early_end(text, "sender"):
        return early
    sent, speed = _SENT.search(text), _SPEED.search(text)
    if sent is None or speed is None:
        return Unusable(reason="truncated: the sender's log has no last lines")
    return Sent(packets=int(sent[1]), pps=float(speed[1]) * _UNITS[speed[2]])


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """What a receiver says at its end: packets, and the time from the first one to the last."""

    packets: int
    seconds: float


def parse_received(text: str) -> Received | Unusable:
    """Read the end of the log of a receiver that ended by itself, no matter what is in it."""
    if early := _early_end(text, "receiver"):
        return early
    match = _RECEIVED.search(text)
    if match is not None:
        return Received(packets=int(match[1]), seconds=float(match[2]))
    nothing = not any(_intervals(text.split("\n")))
    reason = "the receiver came to no end" + (": it saw nothing" if nothing else "")
    return Unusable(reason=reason, nothing_came=nothing)


def refused_option(text: str) -> RefusedOption | None:
    """The option at which pkt-gen printed its usage and ended; None when it did not."""
    match = _REFUSED.search(text)
    return None if match is None else RefusedOption(option=match[2], complaint=match[1])


def traffic_is_seen(text: str) -> bool:
    """Whether packets arrived in the last interval that a receiver's log tells of."""
    intervals = _intervals(text.split("\n"))
    return bool(intervals) and intervals[-1] > 0


def receiver_is_ready(text: str) -> bool:
    """Whether a receiver's log says that its port has come up and that it polls its ring."""
    return _OPENED.search(text) is not None and _POLLED.search(text) is not None
