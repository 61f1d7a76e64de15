"""Who goes first when several want the lab."""

from enum import IntEnum


class Priority(IntEnum):
    """Buildbot starts the highest first, and the oldest of equals."""

    PERSON = 30
    CONTROL = 25  # three boots a day; a search on a testbed that is ill is in vain
    SEARCH = 20
    CONFIRM = 15
    COMMIT = 10
    AHEAD = 5
    SPARE = 2
    BACKFILL = 0
