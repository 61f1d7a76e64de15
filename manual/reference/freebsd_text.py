"""The page of what FreeBSD's releases need, from the table that the code has of it."""

from __future__ import annotations

from buildbot_bench.core.freebsd_releases import NEEDS
from manual.reference.myst import code, plain, table


def freebsd_text() -> str:
    """A row for each need."""
    rows = [(one.since, plain(one.what), code(one.where)) for one in NEEDS.values()]
    return table(("Since", "Need", "Met by"), rows)
