"""The rate without loss on a testbed behind ssh: paced senders, counts of both ends, drops."""

import re
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.metric import BOOT, NDR, PDR
from buildbot_bench.core.wire import FailureKind, Finished, RunLogs
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.flows import LatencySettings, PktgenTraffic
from buildbot_bench.lab.hardware.latency import NothingPassed, counted, lost_of, parse_counters
from buildbot_bench.lab.loss_search import LossSettings
from tests.fakes.lab_host.bench import LOAD_PPS

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


def searching(bench, latency=None, *, loss=True):
    own = bench.settings().workloads["forwarding"]
    search = LossSettings(trial_s=0.1, trials=1, width=0.05) if loss else None
    return {"forwarding": replace(own, loss=search, latency=latency)}


def test_a_kernels_rate_without_loss_is_found_within_one_boot_and_latency_at_shares_of_it(bench):
    workloads = searching(bench, LatencySettings(shares=(0.1, 0.9), duration_s=3.0))
    driver = bench.driver(workloads=workloads)
    fine = {one.subject: one.fine for one in driver.check()}
    assert fine["MLRsearch"]
    assert fine["hdrhistogram"]
    (measured,), last = bench.run(bench.kernel(pps=300_000), driver)
    assert last == Finished(iterations=1)
    assert measured.values[NDR.unit] == pytest.approx(300_000, rel=0.06)
    lines = measured.log.splitlines()
    trials = [line for line in lines if " pps for 0.1 s: sent " in line]
    assert 3 <= len(trials) <= 20
    assert measured.facts["trials"].startswith(f"{len(trials)} in ")
    assert measured.facts[NDR.unit].endswith(" pps")
    sends = [call for call in bench.pkt_gens() if " -f tx " in call]
    assert all(" -R " in call for call in sends)
    assert len(sends) == len(trials) + 2
    assert [" -i vale7:load -S 02:" in call for call in sends][-3:] == [False, True, True]

    told = {metric.unit: metric.higher_is_better for metric in driver.metrics()}
    assert [*measured.values] == [
        NDR.unit,
        PDR.unit,
        *(unit for unit in told if "99.9" not in unit),
        BOOT.unit,
    ]
    assert not any(told.values())
    # The stand-in's packets wait as in an M/M/1 queue: 20 us to be served, 10 us on the way.
    for share in (0.1, 0.9):
        busy = share * measured.values[NDR.unit] / 300_000
        mean = 10 + 20 / (1 - busy)
        assert measured.values[f"us at {share:.0%}".replace("%", " %")] == pytest.approx(
            mean, rel=0.02
        )
    assert sum(line.startswith("histogram in ns at ") for line in lines) == 2
    assert not (bench.network.wire / "vale").exists()


@pytest.mark.parametrize(("times", "is_measured"), [(2, True), (9, False)])
def test_a_trial_is_tried_again_where_a_busy_host_held_up_the_senders(bench, times, is_measured):
    driver = bench.driver(workloads=searching(bench))
    kernel = bench.kernel(pps=300_000)
    driver.install(kernel, sha256(kernel))
    driver.boot()
    bench.network.script("held-up", times)
    if is_measured:
        assert driver.blast("forwarding").values[NDR.unit] == pytest.approx(300_000, rel=0.06)
    else:
        with pytest.raises(InfraError, match=r"the senders sent .* pps, not .*") as refused:
            driver.blast("forwarding")
        assert "lengthen trial_s" in refused.value.hint


def test_latency_alone_is_timed_at_told_rates_and_a_port_that_was_left_is_freed(bench):
    (bench.network.wire / "vale").write_text("igb1\n")
    latency = LatencySettings(rates_pps=(30_000,), duration_s=3.0, pings_pps=500)
    driver = bench.driver(workloads=searching(bench, latency, loss=False))
    driver.facts()
    (measured,), _ = bench.run(bench.kernel(pps=300_000), driver)
    assert next(iter(measured.values)) == "us at 30000 pps"


@pytest.mark.parametrize(
    ("times", "outcome"),
    [
        (2, r"no ping came back; the known-good kernel passes traffic"),
        ("9", r"no ping came back; with the known-good kernel: none either: the DUT is to route"),
    ],
)
def test_pings_that_come_back_never_are_the_kernels_fault_if_the_known_good_ones_do(
    bench, times, outcome
):
    bench.network.script("no-pings", times)
    latency = LatencySettings(rates_pps=(30_000,), duration_s=3.0, pings_pps=500)
    driver = bench.driver(workloads=searching(bench, latency, loss=False))
    (measured,), last = bench.run(bench.kernel(pps=300_000), driver)
    assert re.search(outcome, measured.failure)
    assert (last.kind is FailureKind.UNTESTABLE) == (times == 2)
    assert not bench.generator.running("pkt-gen")
    assert not (bench.network.wire / "vale").exists()


def test_a_load_that_does_not_pass_is_no_share_of_the_rate_without_loss(bench):
    line = "1.2 main_thread [9] {0} pps ({0} pkts 1 bps in 1000000 usec) 1.00 avg_batch\n"
    logs = [line.format(5) + line.format(pps) * 2 + line.format(5) for pps in (1000, 950)]
    ends = RunLogs(receiver=logs[1], senders=(logs[0],))
    with pytest.raises(InfraError, match="5% of 1000 pps were lost"):
        lost_of(ends, TRAFFIC, at_most=0.02)
    assert lost_of(ends, TRAFFIC, at_most=1.0) == pytest.approx(0.05)
    with pytest.raises(InfraError, match="the senders sent 1000 pps, not 2000"):
        lost_of(ends, replace(TRAFFIC, offered_pps=2000.0), at_most=1.0)


def test_a_capture_takes_a_share_of_the_rate_without_loss(bench):
    driver = bench.driver(workloads=searching(bench))
    kernel = bench.kernel(pps=300_000)
    driver.install(kernel, sha256(kernel))
    driver.boot()
    searches = driver._searches
    assert searches.sampled("forwarding", 0.5).load_pps == pytest.approx(150_000, rel=0.06)
    assert searches.sampled("forwarding", 0.0).load_pps == LOAD_PPS
