"""The rate without loss on a testbed behind ssh: paced senders, counts of both ends, drops."""

from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import NDR, PDR
from buildbot_bench.core.run_logs import RunLogs
from buildbot_bench.core.wire import Finished
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.loss import NothingPassed, counted, parse_counters
from buildbot_bench.lab.loss_search import LossSettings

# FreeBSD 14, netstat -ind, sysctl dev.igb.0 and vmstat -i; a port that is down has an asterisk.
PRINTED = """\
Name    Mtu Network       Address              Ipkts Ierrs Idrop    Opkts Oerrs  Coll  Drop
igb0   1500 <Link#1>      00:0d:b9:41:ca:3c  7413853     7    12  7400000     0     0     3
igb0      - 198.18.0.0/24 198.18.0.203            12     -     -       15     -     -     -
igb1*  1500 <Link#2>      00:0d:b9:41:ca:3d        0     0     0        0     0     0     0
lo0   16384 <Link#3>      lo0                     40     9     9       40     0     0     0
dev.igb.0.mac_stats.missed_packets: 468
dev.igb.0.mac_stats.good_pkts_recvd: 7413853
dev.igb.0.%desc: Intel(R) I210 dropping
interrupt                          total       rate
irq256: igb0:rxq0                   1000          3
irq257: igb0:aq                        5          0
cpu0:timer                         99999        100
"""
SENT = "Sent 1000 packets 60000 bytes 9 events 60 bytes each in 1.00 seconds.\n"
SPEED = "Speed: 1000 pps Bandwidth: 480000 bps\n"
RECEIVED = "Received 990 packets 59400 bytes 9 events 60 bytes each in 1.00 seconds.\n"
TRAFFIC = PktgenTraffic(offered_pps=1000.0, duration_s=1.0)


def test_the_duts_counters_of_drops_and_interrupts_are_read():
    assert parse_counters(PRINTED, ("igb0", "igb1")) == {
        "igb0 Ierrs": 7,
        "igb0 Idrop": 12,
        "igb0 Oerrs": 0,
        "igb0 Drop": 3,
        "igb1 Ierrs": 0,
        "igb1 Idrop": 0,
        "igb1 Oerrs": 0,
        "igb1 Drop": 0,
        "igb.0.mac_stats.missed_packets": 468,
        "igb0 interrupts": 1005,
    }
    assert parse_counters("\x00<Link#1> \nigb0 1 <Link#1> x\n", ("igb0",)) == {}


def test_a_trial_is_what_both_ends_counted():
    trial = counted(RunLogs(receiver=RECEIVED, senders=(SENT + SPEED,)), TRAFFIC, {"igb0 Drop": 10})
    assert trial.line == "1000 pps for 1 s: sent 1000, lost 10, igb0 Drop 10"
    assert trial.wanted == 1000


@pytest.mark.parametrize(
    ("receiver", "sender", "complaint"),
    [
        (RECEIVED, SENT, "the sender's log has no last lines"),
        (RECEIVED, SENT + SPEED.replace("1000", "900"), "sent 900 pps, not 1000"),
        ("1.2 main_thread [9] 700 pps (\n", SENT + SPEED, "the receiver came to no end"),
        (RECEIVED.replace("1.00", "0.00"), SENT + SPEED, "the receiver saw 0 s of 1 s traffic"),
        ("ouch, thread 0 exited\n", SENT + SPEED, "the receiver crashed"),
    ],
)
def test_a_trial_that_cannot_be_believed_is_the_labs_fault(receiver, sender, complaint):
    with pytest.raises(InfraError, match=complaint):
        counted(RunLogs(receiver=receiver, senders=(sender,)), TRAFFIC, {})


def test_a_trial_in_which_nothing_arrives_is_told_apart():
    with pytest.raises(NothingPassed):
        counted(
            RunLogs(receiver="1.2 main_thread [9] 0 pps (\n", senders=(SENT + SPEED,)), TRAFFIC, {}
        )


def test_a_kernels_rate_without_loss_is_found_within_one_boot(bench):
    own = bench.settings().workloads["forwarding"]
    loss = LossSettings(trial_s=0.1, trials=1, width=0.05)
    driver = bench.driver(workloads={"forwarding": replace(own, loss=loss)})
    assert {one.subject: one.fine for one in driver.check()}["MLRsearch"]
    (measured,), last = bench.run(bench.kernel(pps=300_000), driver)
    assert last == Finished(iterations=1)
    assert list(measured.values) == [NDR.unit, PDR.unit]
    assert measured.values[NDR.unit] == pytest.approx(300_000, rel=0.06)
    trials = [line for line in measured.log.splitlines() if " pps for 0.1 s: sent " in line]
    assert 3 <= len(trials) <= 20
    assert measured.facts["trials"].startswith(f"{len(trials)} in ")
    assert measured.facts[NDR.unit].endswith(" pps")
    sends = [call for call in bench.pkt_gens() if " -f tx " in call]
    assert all(" -R " in call for call in sends)
    assert len(sends) == len(trials)
