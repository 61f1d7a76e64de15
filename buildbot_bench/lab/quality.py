"""The verdict whether one run of traffic can be believed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from buildbot_bench.core.run_logs import RunLogs
from buildbot_bench.lab.pktgen import Reading, Sent, Unusable, parse_receiver, parse_sender

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
