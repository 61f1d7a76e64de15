"""A report on instructions per packet; costs and places are those of FreeBSD's own kernel."""

from dataclasses import replace

from buildbot_bench.core.profile.model import EXECUTED, Profile, Stack
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import Context
from buildbot_bench.core.report.model import Report
from buildbot_bench.core.report.why import Capture, Captures
from buildbot_bench.core.sample import INSTRUCTIONS_PER_PACKET, Metric
from tests.fakes import reports

PACKETS = 256
_COUNTED = {
    "ip_tryforward": (179, 182, "sys/netinet/ip_fastfwd.c:234"),
    "in_cksum_hdr": (17, 34, "sys/netinet/in_cksum.c:250"),
    "in_cksumdata": (74, 148, "sys/netinet/in_cksum.c:108"),
    "em_isc_txd_encap": (311, 311, "sys/dev/e1000/em_txrx.c:303"),
    "all_the_rest": (3016, 3016, ""),
}
_CHECKSUM_DIFF = """\
diff --git a/sys/netinet/ip_fastfwd.c b/sys/netinet/ip_fastfwd.c
--- a/sys/netinet/ip_fastfwd.c
+++ b/sys/netinet/ip_fastfwd.c
@@ -301,0 +302,3 @@ ip_redir_alloc(struct mbuf *m, struct nhop_object *nh,
+
+static int
+ip_never_executed(void) { return (in_cksum_hdr(NULL)); }
@@ -477 +480,2 @@ ip_tryforward(struct mbuf *m)
-\tif (m->m_pkthdr.csum_flags & CSUM_IP_CHECKED)
+\tsum = in_cksum_hdr(ip);
+\tif (sum != 0 || (m->m_pkthdr.csum_flags & CSUM_IP_CHECKED))
"""


def counted(*, metric: Metric = INSTRUCTIONS_PER_PACKET, measured: float = 3691.0) -> Report:
    """A culprit on a metric that is counted: a checksum that is computed once more.

    `measured` is each boot's value of the new side.
    """
    page = "https://bench.example.org/plugins/bench/flamegraph"
    old, new = (
        Profile(
            stacks=tuple(
                Stack(frames=(name,), samples=PACKETS * row[side]) for name, row in _COUNTED.items()
            ),
            event=EXECUTED,
            packets=PACKETS,
            places={name: row[2] for name, row in _COUNTED.items() if row[2]},
        )
        for side in (0, 1)
    )
    counts = reports.samples({0: [3597.0] * 5, 1: [measured] * 5})
    return compose(
        range=reports.history(1, _1={"subject": "ip_fastfwd: do not trust the card's checksum"}),
        answer=reports.answer(reports.step(0, 1, 94 / 3597)),
        samples=[replace(sample, metric=metric) for sample in counts],
        setting=replace(reports.SETTING, testbed="freebsd-exact", metric=metric),
        known=Context(
            captures=Captures(
                counter=EXECUTED,
                old=Capture(label="r311848", profile=old, link=f"{page}/1.svg"),
                new=Capture(label="r311849", profile=new, link=f"{page}/2.svg"),
                difference=f"{page}/1-2.svg",
                diff=_CHECKSUM_DIFF,
            )
        ),
    )
