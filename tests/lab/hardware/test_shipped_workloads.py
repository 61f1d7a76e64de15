"""The workloads that ship: whole on the DUT for their boots, and gone with the next workload."""

import subprocess
from pathlib import Path

import pytest
import yaml

from buildbot_bench.core.wire import Finished
from buildbot_bench.lab.driver import Dut as Life
from buildbot_bench.lab.driver import Request, measure
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.check import gaps
from buildbot_bench.lab.hardware.config_set import parts_of
from buildbot_bench.lab.imported_sets import read_assignments
from buildbot_bench.lab.tables import load_testbeds
from tests.fakes.lab_host.bench import ONCE
from tests.readme import blocks

LAB = Path(__file__).parents[3] / "workers" / "lab"
SHIPPED = ("forwarding", "forwarding-inet6", "ipfw-stateless", "ipfw-statefull", "pf-statefull")


@pytest.fixture(scope="module")
def apu2():
    return load_testbeds(LAB / "apu2.toml")["apu2"].settings


def files_of(workload: str) -> dict[str, str]:
    root = LAB / "workloads" / workload / "dut"
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


def there(bench) -> dict[str, str]:
    root = bench.dut.directory
    places = (root / "etc").rglob("*")
    return {str(p.relative_to(root)): p.read_text() for p in places if p.is_file()}


def run(bench, apu2, workload: str):
    """A job of one boot, by the example's own settings of its workloads."""
    driver = bench.driver(workloads=apu2.workloads)
    kernel = bench.kernel()
    request = Request(job="j", testbed="apu2", workload=workload, digest="", iterations=1)
    driver.prepare(workload)
    events = []
    try:
        return measure(request, Life(driver, kernel, sha256(kernel)), (), events.append, ONCE)
    finally:
        driver.shutdown()


def test_the_example_names_each_of_them_and_lacks_nothing(apu2):
    assert set(apu2.workloads) == set(SHIPPED)
    assert {path.name for path in (LAB / "workloads").iterdir() if path.is_dir()} == set(SHIPPED)
    assert gaps(apu2) == []
    assert all(apu2.traffic_of(name).flows == "2k" for name in SHIPPED)
    assert apu2.traffic_of("forwarding-inet6").family == "inet6"


def test_the_readmes_workflow_measures_what_the_example_has(apu2):
    (text,) = [block for block in blocks("yaml") if "name: APU2" in block]
    matrix = yaml.safe_load(text)["jobs"]["bench"]["strategy"]["matrix"]
    assert set(matrix["workload"]) <= set(apu2.workloads)


@pytest.mark.parametrize("workload", SHIPPED)
def test_its_files_can_be_read_by_those_who_read_them(apu2, workload):
    """rc.conf is sh(1)'s, ipfw's rules are a script of it, and a firewall is what rc.conf says."""
    files = files_of(workload)
    settings = read_assignments(LAB / "workloads" / workload / "dut/etc/rc.conf.local")
    assert set(settings) <= {
        *("gateway_enable", "ipv6_gateway_enable"),
        *("firewall_enable", "firewall_script", "pf_enable", "pf_rules"),
    }
    firewall = "pf" if "pf_enable" in settings else "ipfw" if "firewall_enable" in settings else ""
    assert apu2.workloads[workload].firewall == firewall
    for key in ("firewall_script", "pf_rules"):
        assert settings.get(key, "/etc/rc.conf.local").lstrip("/") in files
    if "etc/ipfw.bench" in files:
        subprocess.run(["sh", "-n"], input=files["etc/ipfw.bench"].encode(), check=True)
        assert ("keep-state" in files["etc/ipfw.bench"]) == workload.endswith("statefull")


def test_each_is_put_on_whole_measured_and_taken_off_by_the_next(bench, apu2):
    own = {"rc.conf": 'hostname="apu2"\n', "rc.conf.local": "# the DUT's own\n"}
    for name, text in own.items():
        (bench.dut.directory / "etc" / name).write_text(text)
    for workload in SHIPPED:
        assert run(bench, apu2, workload) == Finished(iterations=1), workload
        files = files_of(workload)
        assert there(bench) == {"etc/rc.conf": own["rc.conf"], **files}
    bench.driver().install(kernel := bench.kernel(), sha256(kernel))
    assert there(bench) == {f"etc/{name}": text for name, text in own.items()}


def test_a_set_without_a_part_for_the_reference_is_the_duts():
    parts = parts_of(LAB / "workloads/forwarding")
    assert (parts.dut, parts.reference) == (LAB / "workloads/forwarding/dut", None)
