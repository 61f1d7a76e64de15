"""A job's file of events, appended by one runner and followed by any number of readers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.wire import (
    Event,
    Failed,
    Finished,
    Measured,
    Profiled,
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
