"""A job's events as lines of text for a person."""

from __future__ import annotations

import time

from buildbot_bench.core.legible import long_line
from buildbot_bench.core.profile import parse_folded, top_symbols
from buildbot_bench.core.wire import Event, Failed, Finished, Measured, Phase, Profiled, Started

_MOST_SYMBOLS = 5  # functions in a line


def tell(event: Event) -> str:
    """One event in one or a few lines of plain text."""
    match event:
        case Started():
            lines = [f"job {event.job}: {event.workload} on {event.testbed}, {event.digest[:12]}"]
            lines += [f"  {name}: {long_line(value)}" for name, value in event.facts.items()]
            return "\n".join(lines)
        case Phase():
            return f"{_clock(event.at_s)} {long_line(event.text)}"
        case Measured():
            return f"{_clock(event.at_s)} #{event.ordinal}: {_of_iteration(event)}"
        case Profiled():
            return _of_capture(event)
        case Failed():
            return f"{event.kind}: {long_line(event.reason)}"
        case Finished():
            return f"finished: {event.iterations} iterations"


def _of_iteration(event: Measured) -> str:
    if event.failure is not None:
        return f"refused: {long_line(event.failure)}"
    values = ", ".join(f"{value:,.0f} {unit}" for unit, value in event.values.items())
    return f"{values} ({event.duration_s:.0f} s)"


def _of_capture(event: Profiled) -> str:
    capture = parse_folded(event.folded.splitlines(), source="the capture")
    shares = ", ".join(
        f"{long_line(symbol.name)} {symbol.self_share:.1%}"
        for symbol in top_symbols(capture, limit=_MOST_SYMBOLS)
    )
    head = f"{_clock(event.at_s)} {capture.samples:,} samples of {long_line(event.counter)}"
    return f"{head}, {capture.idle_share:.0%} idle; busy with {shares}"


def _clock(at_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_s))
