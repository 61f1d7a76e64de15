"""What `python -m benchmarks why` counts as right, and that it reads what a report says."""

from dataclasses import replace

import pytest

from benchmarks.why import CASES, judged, show
from buildbot_bench.core.profile.model import Profile, Stack
from buildbot_bench.core.report.why import Capture, Captures, Why, explain
from buildbot_bench.core.sample import PACKETS_PER_CPU_SECOND

EMBEDDED = next(case for case in CASES if case.name == "embedded")
DIFF = """\
diff --git a/src/netif.c b/src/netif.c
--- a/src/netif.c
+++ b/src/netif.c
@@ -40,0 +41 @@ netif_receive(struct packet *packets, int count)
+\tlayer_queue(packets, count);
"""


def capture(**samples: int) -> Profile:
    stacks = [Stack(frames=("main", *path.split("__")), samples=n) for path, n in samples.items()]
    return Profile(stacks=tuple(stacks), event="processor-time")


@pytest.fixture
def why() -> Why:
    old = capture(netif_receive__recvmmsg=600, netif_transmit__sendmmsg=400)
    new = capture(
        netif_receive__recvmmsg=600, netif_transmit__sendmmsg=400, netif_receive__sendmmsg=340
    )
    known = Captures(
        old=Capture(label="r1", profile=old), new=Capture(label="r2", profile=new), diff=DIFF
    )
    return explain(known, metric=PACKETS_PER_CPU_SECOND, levels=(134.0, 100.0))


def test_the_function_that_the_commit_slowed_is_right(why, capsys):
    found = judged(EMBEDDED.right, why)
    assert (found.right, found.named, found.largest) == (True, ("netif_receive",), "sendmmsg")
    show(EMBEDDED, [found])
    assert "is right in 1 of 1" in capsys.readouterr().out


def test_another_function_and_none_are_wrong(why):
    assert not judged(frozenset({"route_lookup"}), why).right
    assert not judged(EMBEDDED.right, replace(why, places=())).right
    assert not judged(EMBEDDED.right, Why(missing="no capture")).right
