"""Why a command of the lab ended, in one harmless line, from what it printed beside its events.

It knows no event and no row.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from buildbot_bench.core.legible import MESSAGE_COLUMNS, long_line

# What a table, a page and a mail have room for.
REASON_COLUMNS = MESSAGE_COLUMNS
# A traceback has its reason in its last line, a usage error in its last few.
_LINES_KEPT = 20
_PROGRAM = "bench-lab"
_TRACEBACK = "Traceback (most recent call last)"
# Twisted, in the worker's child, before it could become bench-lab.
_NOT_RUN = "Upon execvpe"
_KILLED = re.compile(r"process killed by signal (\d+)")


def harmless(reason: str) -> str:
    """A reason as it is kept: one visible line, at most `REASON_COLUMNS` wide."""
    return long_line(reason)


class LastWords:
    """Remembers the end of what a command wrote to stderr, and what the worker said of it."""

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=_LINES_KEPT)
        self._killed = ""

    def error(self, line: str) -> None:
        """Take one line of stderr."""
        if line.strip():
            self._errors.append(line)

    def header(self, line: str) -> None:
        """Take one line that the worker says of the command."""
        if found := _KILLED.search(line):
            self._killed = f"{_PROGRAM} was killed by signal {found[1]}"

    def reason(self, command: Any) -> str:
        """Why Buildbot's remote command ended; empty when nothing tells it."""
        match command.remote_failure_reason:
            case "timeout":
                return f"{_PROGRAM} did not end within timeout-minutes of bench.yml"
            case "timeout_without_output":
                return f"{_PROGRAM} printed nothing for too long; is the lab controller overloaded?"
        return harmless(self._said() or self._killed)

    def _said(self) -> str:
        if not self._errors:
            return ""
        lines = list(self._errors)
        if any(_NOT_RUN in line for line in lines):
            return f"the lab worker cannot run {_PROGRAM}: {lines[-1]}; is it on the worker's PATH?"
        begun = [n for n, line in enumerate(lines) if line.startswith((_PROGRAM, _TRACEBACK))]
        if not begun:
            return lines[-1]
        if lines[begun[-1]].startswith(_TRACEBACK):
            return f"{_PROGRAM} broke: {lines[-1]}"
        return " ".join(lines[begun[-1] :])
