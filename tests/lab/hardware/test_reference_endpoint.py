"""A tunnel to a reference endpoint is measured, on three nodes and on four, with real frames."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from buildbot_bench.core.wire import Failed, Finished, Measured, split_logs
from buildbot_bench.lab.driver import Dut as Life
from buildbot_bench.lab.driver import Request, measure
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.settings import WorkloadSettings
from tests.fakes.lab_host.bench import ONCE, values
from tests.fakes.lab_host.machines import SSHD
from tests.fakes.lab_host.namespaces import TunnelLab, can_make_namespaces

THROUGH = (("ping", "-c", "2", "198.19.0.203"),)  # the receiver, by way of the tunnel
NEAR = (("ping", "-c", "2", "198.18.1.203"),)  # the reference endpoint, on the DUT's own link
SET = {
    "dut": """\
gateway_enable="YES"
cloned_interfaces="gif0"
ifconfig_gif0="tunnel 198.18.1.205 198.18.1.203"
static_routes="receiver"
route_receiver="-net 198.19.0.0/16 -interface gif0"
""",
    "refendpoint": """\
gateway_enable="YES"
cloned_interfaces="gif0"
ifconfig_gif0="tunnel 198.18.1.203 198.18.1.205"
static_routes="receiver sender"
route_receiver="-net 198.19.0.0/16 198.19.0.203"
route_sender="-net 198.18.0.0/16 198.18.1.205"
""",
}


@pytest.fixture(params=[3, 4])
def lab(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TunnelLab]:
    if SSHD is None or not can_make_namespaces():
        pytest.skip("there is no sshd here, or no namespaces: install openssh-server and iproute2")
    made = TunnelLab(tmp_path / "lab", nodes=request.param)
    try:
        yield made
    finally:
        made.close()


def a_set(root: Path, *parts: str) -> Path:
    for part in parts:
        (root / part / "etc").mkdir(parents=True)
        (root / part / "etc/rc.conf.local").write_text(SET[part])
    return root


def run(lab: TunnelLab, workload: str, workloads, *, ready_s: float = 60, **kernel):
    driver = lab.driver(workloads=workloads, within={"ready_s": ready_s})
    file = lab.kernel(**kernel)
    request = Request(job="j", testbed="t", workload=workload, digest="", iterations=2)
    driver.prepare(workload)
    events = []
    life = Life(driver, file, sha256(file))
    last = measure(request, life, (), events.append, ONCE)
    return [event for event in events if isinstance(event, Measured)], last, driver.facts()


def test_a_tunnel_is_measured_and_its_set_taken_off_both_ends(lab):
    workloads = {
        "gif": WorkloadSettings(ready=THROUGH, configs=a_set(lab.root / "set", *SET)),
        "plain": WorkloadSettings(ready=NEAR),
    }
    for pps in (650_000, 480_000):
        measured, last, facts = run(lab, "gif", workloads, pps=pps, label=f"r{pps}")
        assert last == Finished(iterations=2), (last, lab.said)
        assert values(measured) == pytest.approx([pps] * 2, rel=0.02)
        assert facts["reference host"] == "reference"
    logs = split_logs(measured[0].log)
    assert (logs.receiver.count(" pps ("), len(logs.senders)) == (24, 1)
    assert lab.reference.boots == 3  # its first, and one for each job
    # The next workload has no set: neither end has one any more.
    driver = lab.driver(workloads=workloads)
    driver.prepare("plain")
    driver.install(kernel := lab.kernel(), sha256(kernel))
    for machine in (lab.dut, lab.reference):
        assert not (machine.directory / "etc/rc.conf.local").exists()
    assert lab.reference.boots == 4


def test_a_tunnel_with_one_end_is_a_fault_of_the_lab_and_never_the_kernels(lab):
    """The importer's `reference` for `refendpoint` was such: the other end got nothing."""
    workloads = {"gif": WorkloadSettings(ready=THROUGH, configs=a_set(lab.root / "set", "dut"))}
    measured, last, _ = run(lab, "gif", workloads, ready_s=2)
    assert isinstance(last, Failed)
    assert last.kind == "infrastructure"
    assert "198.19.0.203" in last.reason
    assert values(measured) == []
