"""A job's file of events, appended by one runner, and the events as lines of text for a person."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.figures import quantity
from buildbot_bench.core.legible import long_line
from buildbot_bench.core.profile.formats import parse_folded
from buildbot_bench.core.profile.functions import top_symbols
from buildbot_bench.core.wire import (
    Event,
    Failed,
    Finished,
    Measured,
    Phase,
    Profiled,
    Started,
    format_event,
    parse_event,
)


class EventLog:
    """The events of one job, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, event: Event) -> None:
        """Add one event; what a measurement cost time to get is on the disk when this returns."""
        line = (format_event(event) + "\n").encode("ascii")
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            while line:
                line = line[os.write(descriptor, line) :]
            if isinstance(event, Measured | Profiled | Failed | Finished):
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def mend(self) -> None:
        """Cut off a last line that a crash left half written; only the one writer may call this."""
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)

    def read(self) -> list[Event]:
        """All events that are wholly there."""
        return [parse_event(line) for line in self.lines_after(0)]

    def lines_after(self, offset: int) -> Iterator[str]:
        """The whole lines behind an offset, which is in bytes; ends at a line not yet finished."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    yield line.decode("ascii", errors="replace")
        except FileNotFoundError:
            return


def ended(event: Event) -> bool:
    """Whether this is a job's last event."""
    return isinstance(event, Failed | Finished)


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
            capture = parse_folded(event.folded.splitlines(), source="the capture")
            shares = ", ".join(
                f"{long_line(name)} {share:.1%}"
                for name, share in top_symbols(capture, limit=_MOST_SYMBOLS)
            )
            head = f"{_clock(event.at_s)} {capture.samples:,} samples of {long_line(event.counter)}"
            return f"{head}, {capture.idle_share:.0%} idle; busy with {shares}"
        case Failed():
            return f"{event.kind}: {long_line(event.reason)}"
        case Finished():
            return f"finished: {event.iterations} iterations"


def _of_iteration(event: Measured) -> str:
    if event.failure is not None:
        return f"refused: {long_line(event.failure)}"
    values = ", ".join(f"{quantity(value)} {unit}" for unit, value in event.values.items())
    return f"{values} ({event.duration_s:.0f} s)"


def _clock(at_s: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_s))
