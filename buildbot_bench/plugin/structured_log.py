"""The structured log: the plugin's events as JSON lines, beside twistd.log.

Each object has `time` (ISO 8601, UTC), `level`, `module`, `message`, and the fields that the event
was logged with: `probe`, `search`, `comparison`, `testbed` and such.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    LogEvent,
    PredicateResult,
    formatEvent,
    globalLogPublisher,
)
from twisted.python.logfile import LogFile

NAME = "bench.jsonl"
# As many and as long as twistd.log's files are by default.
MOST_BYTES, MOST_FILES = 10_000_000, 10
PRIVATE = 0o600
_OURS = "buildbot_bench."
_MOST_CHARACTERS = 8192


class StructuredLog:
    """Writes the structured log into a directory while it is started."""

    def __init__(self, directory: Path) -> None:
        self._file = LogFile(
            NAME,
            str(directory),
            rotateLength=MOST_BYTES,
            maxRotatedFiles=MOST_FILES,
            defaultMode=PRIVATE,
        )
        self._observer = FilteringLogObserver(
            FileLogObserver(self._file, as_line), [_is_ours], lambda _event: None
        )

    def start(self) -> None:
        """Write from now on."""
        globalLogPublisher.addObserver(self._observer)

    def stop(self) -> None:
        """Write no more."""
        globalLogPublisher.removeObserver(self._observer)
        self._file.close()


def _is_ours(event: LogEvent) -> Any:
    ours = str(event.get("log_namespace", "")).startswith(_OURS)
    return PredicateResult.yes if ours else PredicateResult.no


def as_line(event: LogEvent) -> str:
    """An event as one line of JSON; what is no text, number or truth value is written as text."""
    failure = event.get("log_failure")
    level = event.get("log_level")
    line = {
        "time": datetime.fromtimestamp(event["log_time"], tz=UTC).isoformat(),
        "level": level.name if level else "info",
        "module": str(event["log_namespace"]).removeprefix(_OURS),
        "message": _bounded(formatEvent(event)),
        **_fields(event),
    }
    if failure is not None:
        line["failure"] = _bounded(failure.getTraceback())
    return json.dumps(line) + "\n"


def _fields(event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value if _is_plain(value) else _bounded(str(value))
        for name, value in event.items()
        if not name.startswith("log_") and name not in _OF_TWISTED
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value))


# What Twisted adds for observers of its older kind.
_OF_TWISTED = frozenset(
    ("message", "time", "system", "format", "isError", "failure", "why", "logLevel", "log_legacy")
)


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
