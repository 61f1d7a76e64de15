"""The readings in pkt-gen's logs by the rules of the netbenches archive, and which to believe.

The archive's value of a run: drop the log's first 15 and last 10 lines, keep the lines
`main_thread [n] P pps …` whose P does not start with 0, and take the median of P.
"""

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from buildbot_bench.core.wire import RunLogs

HEAD_LINES = 15  # the archive's, as told above
TAIL_LINES = 10  # likewise
_LINE = re.compile(r"[0-9.]*\s*main_thread \[\d+\] (\d{1,15}) pps\b", re.ASCII)
_BUSY = re.compile(
    r"\bmain_thread \[\d+\] [1-9]\d* pps \((\d+) pkts .* in ([1-9]\d*) usec\)", re.ASCII
)
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
# What ping prints of each second: FreeBSD 12's to 15's, as told at Pings.
_ANSWERED = re.compile(r".*\bping_body \[\d+\] count \d+ RTT: min (-?\d+) av (-?\d+) ns", re.ASCII)
_ENDS = re.compile(r".*\bping_body \[\d+\] k: (-?\d{1,10}) \.\. (-?\d{1,10})", re.ASCII)
_COUNTS = re.compile(r"\t(?: +\d{1,10}){1,64}", re.ASCII)
_TIMED_OUT = re.compile(r"\bping_body \[\d+\] poll error on queue \d+: timeout$", re.MULTILINE)
_FOREIGN_FROM = 32  # bucket: its answers would have been 4 s on their way, longer than ping waits
_MOST_FOREIGN = 0.05  # of what came; chosen: a DUT says a thing or two by itself, not more


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


def mean_pps(text: str) -> float:
    """The mean pps of a running pkt-gen, but for its first and its last busy second; 0 of none.

    A sender that is held up in a second makes up for it in the next.
    """
    busy = [(int(pkts), int(usec)) for pkts, usec in _BUSY.findall(text)][1:-1]
    return 1e6 * sum(pkts for pkts, _ in busy) / sum(usec for _, usec in busy) if busy else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Pings:
    """The round trips that pkt-gen's ping timed: so many took 2**k to 2**(k+1) ns, by k.

    Least and mean are in ns and exact. ping has the buckets from the first to the last that is not
    empty, prints 1 << k of both as an int, which wraps from 31 on, and takes each frame that
    arrives for an answer: what others send has an absurd time. Its bucket shows it, and the
    second's mean is left out. Of all seconds together ping prints a mean over what it sent, not
    over what came back, and it does not count its last second: nothing is taken from that line.
    """

    answers: Mapping[int, int]
    least_ns: int
    mean_ns: float
    lost: int


def parse_pings(text: str) -> Pings | Unusable:
    """Read the log of pkt-gen's ping, no matter what is in it."""
    if early := _early_end(text, "ping"):
        return early
    answers: dict[int, int] = {}
    foreign, means, least = 0, [], []
    for number, second in enumerate(_seconds(text.splitlines())):
        quickest, mean, first, last, counts = second
        # Where all are foreign, the first bucket has wrapped, and the quickest lies elsewhere.
        most = _FOREIGN_FROM if _bucket(quickest) == first else 0
        own = {n: count for n, count in enumerate(counts, first) if n < most and count}
        answers = {n: answers.get(n, 0) + own.get(n, 0) for n in answers | own}
        if number:  # the first has what lay in the port's ring before: 1,023 frames of an em(4)
            foreign += sum(counts) - sum(own.values())
        if own:
            least.append(quickest)
        if own and last - first + 1 == len(counts):
            means.append((mean, sum(own.values())))
    lost, came = len(_TIMED_OUT.findall(text)), sum(answers.values())
    if not came and lost:
        return Unusable(reason="no ping came back", nothing_came=True)
    if not came:
        return Unusable(reason="pkt-gen tells of no ping: it is older than FreeBSD 12's, or ended")
    if foreign > _MOST_FOREIGN * came or not means:
        return Unusable(reason=f"{foreign} packets of others came between {came} pings")
    mean_ns = sum(mean * count for mean, count in means) / sum(count for _, count in means)
    return Pings(answers=answers, least_ns=min(least), mean_ns=mean_ns, lost=lost)


def _seconds(lines: list[str]) -> Iterator[tuple[int, int, int, int, list[int]]]:
    """Of each second: least and mean in ns, first and last bucket, and counts from the first."""
    answered = None
    for line, following in pairwise([*lines, ""]):
        if found := _ANSWERED.fullmatch(line):
            answered = found
        elif (ends := _ENDS.fullmatch(line)) and answered and _COUNTS.fullmatch(following):
            counts = [int(word) for word in following.split()]
            first, last = (_bucket(int(end)) for end in ends.groups())
            yield int(answered[1]), int(answered[2]), first, last, counts
            answered = None


def _bucket(time_ns: int) -> int:
    return max(0, time_ns.bit_length() - 1)


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


_MOST_OFF = 0.01  # of the load; chosen: half of the usual min_effect
_SATURATED = 0.985  # of what can arrive; chosen: line rate but for what counting loses
_LEAST_SIBLINGS = 2  # values that tell where a value should lie
_FAR = 2.0  # times: no noise doubles a value, a machine in another state does


class Flaw(StrEnum):
    """Why a run cannot be believed."""

    NO_DATA = "no data"
    NO_TRAFFIC = "no traffic"
    SENDER = "sender"
    OFFERED_LOAD = "offered load"
    FAR = "far from its siblings"


@dataclass(frozen=True, kw_only=True, slots=True)
class FitRun:
    """A run that can be believed: what passed and what was offered, in pps.

    A saturated run is believed, too: so much did pass. That the DUT could do more is no fault of
    the lab's to be tried again; what it hides, the judge calls unfit (core.model: line rate).
    `remark` tells of it; it is empty otherwise.
    """

    value_pps: float
    offered_pps: float
    remark: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnfitRun:
    """A run that cannot; `value_pps` is what was counted all the same."""

    flaw: Flaw
    reason: str
    value_pps: float | None = None


def judge_run(
    logs: RunLogs, *, load_pps: float, line_rate_pps: float, siblings: Sequence[float]
) -> FitRun | UnfitRun:
    """Judge one run by what should have been offered and what other boots of the image gave.

    `siblings` are their values, also of those that were found to be far from the others: a DUT
    with two modes reaches either of them twice.
    """
    received, offered = parse_receiver(logs.receiver), _offered(logs.senders)
    match received, offered:
        case _, Unusable(reason=reason):
            return UnfitRun(flaw=Flaw.SENDER, reason=reason)
        case Unusable(reason=reason, nothing_came=nothing_came), _:
            flaw = Flaw.NO_TRAFFIC if nothing_came else Flaw.NO_DATA
            return UnfitRun(flaw=flaw, reason=reason)
        case Reading(median_pps=value), float() as offered_pps:
            return _judge_value(value, offered_pps, load_pps, line_rate_pps, siblings)
    raise AssertionError(received, offered)


def _judge_value(
    value: float,
    offered: float,
    load_pps: float,
    line_rate_pps: float,
    siblings: Sequence[float],
) -> FitRun | UnfitRun:
    off = offered / load_pps - 1
    if abs(off) > _MOST_OFF:
        reason = f"the offered load was {offered:.0f} pps, {off:+.1%} off {load_pps:.0f}"
        return UnfitRun(flaw=Flaw.OFFERED_LOAD, reason=reason, value_pps=value)
    if _is_far(value, siblings):
        level = statistics.median(siblings)
        reason = f"{value:.0f} pps are far from its siblings' {level:.0f}"
        return UnfitRun(flaw=Flaw.FAR, reason=reason, value_pps=value)
    most = min(offered, line_rate_pps)
    remark = ""
    if value >= _SATURATED * most:
        remark = f"saturated: {value:.0f} pps of {most:.0f} passed, the DUT could do more"
    return FitRun(value_pps=value, offered_pps=offered, remark=remark)


def _offered(logs: Sequence[str]) -> float | Unusable:
    total = 0.0
    for log in logs:
        match parse_sender(log):
            case Unusable() as unusable:
                return unusable
            case Sent(pps=pps):
                total += pps
    return total


def _is_far(value: float, siblings: Sequence[float]) -> bool:
    """Whether no sibling is near, though there are enough of them to tell."""
    if len(siblings) < _LEAST_SIBLINGS:
        return False
    return all(max(value, other) > _FAR * min(value, other) for other in siblings)
