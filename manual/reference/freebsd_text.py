"""The page of what FreeBSD's releases need, made from the table in the code."""

from buildbot_bench.core.freebsd_releases import NEEDS
from manual.reference.myst import code, plain, table


def freebsd_text() -> str:
    """A row for each need."""
    rows = [(one.since, plain(one.what), code(one.where)) for one in NEEDS.values()]
    return table(("Since", "Need", "Met by"), rows)
