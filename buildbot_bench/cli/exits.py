"""The exit statuses of bench-bisect."""

from __future__ import annotations

from enum import IntEnum

from buildbot_bench.cli.answers import RemoteSearchState


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
    RemoteSearchState.FOUND: ExitStatus.ANSWERED,
    RemoteSearchState.SLOPE: ExitStatus.ANSWERED,
    RemoteSearchState.NOT_REPRODUCED: ExitStatus.NO_DIFFERENCE,
    RemoteSearchState.INCONCLUSIVE: ExitStatus.INCONCLUSIVE,
    # A cancelled search leaves its suspects, like any other that ended before its answer.
    RemoteSearchState.CANCELLED: ExitStatus.INCONCLUSIVE,
    RemoteSearchState.FAILED: ExitStatus.INFRASTRUCTURE,
}


def exit_status(state: RemoteSearchState) -> ExitStatus:
    """The status for the state in which a search ended; KeyError while it still runs."""
    return _OF_STATE[state]
