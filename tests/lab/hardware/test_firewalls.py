"""A DUT with a firewall is ready when a rule of it has counted what the readiness commands sent."""

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.wire import Failed, FailureKind, Finished
from buildbot_bench.lab.hardware.settings import WorkloadSettings

PING = (("ping", "-c", "2", "198.19.0.203"),)
VARIABLES = {"pf": "pf_enable", "ipfw": "firewall_enable", "ipf": "ipfilter_enable"}


def workloads(bench, firewall: str, rc_conf: str) -> dict[str, WorkloadSettings]:
    """One workload, whose set has that in its rc.conf."""
    configs = bench.root / "configs"
    (configs / "etc").mkdir(parents=True)
    (configs / "etc/rc.conf").write_text(f"{rc_conf}\n")
    return {"forwarding": WorkloadSettings(ready=PING, configs=configs, firewall=firewall)}


@pytest.mark.parametrize("firewall", ["pf", "ipfw", "ipf"])
def test_a_firewall_that_counts_is_ready(bench, firewall):
    settings = workloads(bench, firewall, f'{VARIABLES[firewall]}="YES"')
    _, last = bench.run(bench.kernel(), bench.driver(workloads=settings))
    assert last == Finished(iterations=1)


@pytest.mark.parametrize("firewall", ["pf", "ipfw", "ipf"])
def test_a_kernel_whose_firewall_does_not_filter_is_untestable(bench, firewall):
    """It would be measured as one that forwards, and be the fastest of all."""
    settings = workloads(bench, firewall, f'{VARIABLES[firewall]}="YES"')
    driver = bench.driver(workloads=settings, within={"ready_s": 1})
    _, last = bench.run(bench.kernel("OPEN"), driver)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert f"no rule of {firewall} counted" in last.reason


@pytest.mark.parametrize(
    ("firewall", "reason"),
    [
        ("pf", "pfctl: /dev/pf: No such file or directory"),
        ("ipfw", "ipfw: retrieving config failed: Protocol not available"),
    ],
)
def test_a_set_that_switches_no_firewall_on_is_a_fault_of_the_lab(bench, firewall, reason):
    settings = workloads(bench, firewall, 'gateway_enable="YES"')
    driver = bench.driver(workloads=settings, within={"ready_s": 1})
    _, last = bench.run(bench.kernel(), driver)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert reason in last.reason


def test_rules_of_the_loopback_and_the_default_rule_prove_nothing(bench):
    """They count whatever the DUT says to itself."""
    bench.dut.script("firewall-is-off")
    settings = workloads(bench, "ipfw", 'firewall_enable="YES"')
    driver = bench.driver(workloads=settings, within={"ready_s": 1})
    _, last = bench.run(bench.kernel(), driver)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "no rule of ipfw counted" in last.reason


def test_an_unknown_firewall_is_refused():
    with pytest.raises(UsageError, match="firewall: 'npf' is none of ipf, ipfw, pf"):
        WorkloadSettings(firewall="npf")
