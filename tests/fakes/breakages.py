"""Breakages and the end of one, as mails and pages show them."""

from dataclasses import replace

from buildbot_bench.core.links import links_of
from buildbot_bench.core.report.compose import harmless
from buildbot_bench.core.report.incident_mails import (
    BreakageReport,
    RecoveryReport,
    TriedRevision,
)
from buildbot_bench.core.revision import Revision

LINKS = links_of("https://cgit.freebsd.org/src")
URL = "https://bench.example.org/#/bench/searches/12"


def revision(position: int, subject: str = "Clean up") -> Revision:
    return Revision(
        sha=f"{position:040x}",
        position=position,
        svn=position,
        subject=subject,
        author="olivier <olivier@example.org>",
    )


def panic(**columns) -> BreakageReport:
    """A commit after which the kernel panics at boot."""
    report = BreakageReport(
        farm="netlab",
        search_id=12,
        builds=False,
        testbed="apu2",
        workload="forwarding",
        works=revision(311859),
        broken=revision(311860, "Free the mbuf once more"),
        suspects=(revision(311860, "Free the mbuf once more"),),
        reason="the DUT does not answer ping within 120 s",
        tried=(
            TriedRevision(label="r311859", outcome="boots", tries=2),
            TriedRevision(
                label="r311860", outcome="does not boot", tries=2, reason="no answer to ping"
            ),
        ),
        console="igb0: link state changed to UP\npanic: page fault\nUptime: 4s",
        url=URL,
        operator="ops@example.org",
        links=LINKS,
        reviews=("D8526",),
    )
    return harmless(replace(report, **columns))


def several() -> BreakageReport:
    """Commits that do not build hide which of them broke it."""
    suspects = tuple(revision(position) for position in (311860, 311861, 311862))
    return panic(suspects=suspects, broken=suspects[-1], console="", reviews=())


def over(**columns) -> RecoveryReport:
    """The level is back."""
    report = RecoveryReport(
        farm="netlab",
        search_id=12,
        kind="boot",
        testbed="apu2",
        workload="forwarding",
        old=revision(311870),
        new=revision(311871, "Free the mbuf once"),
        since="r311860",
        found=panic().subject,
        url=URL,
        links=LINKS,
    )
    return harmless(replace(report, **columns))
