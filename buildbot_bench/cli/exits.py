"""The exit statuses of bench-bisect and bench-compare."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """The statuses a script can rely on; the last two are the shell's 128 + SIGINT, + SIGPIPE."""

    ANSWERED = 0
    NO_DIFFERENCE = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130
    NOBODY_READS = 141


_OF_STATE = {
    "found": ExitStatus.ANSWERED,
    "slope": ExitStatus.ANSWERED,
    "done": ExitStatus.ANSWERED,
    "not-reproduced": ExitStatus.NO_DIFFERENCE,
    "inconclusive": ExitStatus.INCONCLUSIVE,
    "untestable": ExitStatus.INCONCLUSIVE,
    "rejected": ExitStatus.INCONCLUSIVE,
    # A cancelled search leaves its suspects, like any other that ended before its answer.
    "cancelled": ExitStatus.INCONCLUSIVE,
    "failed": ExitStatus.INFRASTRUCTURE,
}


def exit_status(state: str) -> ExitStatus:
    """The status for the state in which a search or a comparison ended; KeyError of another."""
    return _OF_STATE[state]
