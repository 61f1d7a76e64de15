"""Where a DUT's cycles go is sampled while traffic passes, on one boot of one sound kernel."""

import gzip

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.profile.formats import format_folded
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.settings import ProfileSettings
from tests.core.profiles import recorded
from tests.fakes.lab_host.bench import MachineLab
from tests.fakes.lab_host.machines import SSHD

BUSY, IDLE = "n311215-D58513.simple_tx_off", "r311848.forwarding"


@pytest.fixture(scope="module")
def bench(tmp_path_factory, data):
    """pmcstat tells what the archive's did: under traffic, and when it missed the traffic."""
    if SSHD is None:
        pytest.skip("there is no sshd here: install openssh-server")
    bench = MachineLab(tmp_path_factory.mktemp("captures") / "lab")
    for kind, name in (("busy", BUSY), ("idle", IDLE)):
        graph = gzip.decompress((data / "pmc" / f"{name}.pmc.graph.gz").read_bytes())
        (bench.dut.directory / "run" / f"{kind}.pmc.graph").write_bytes(graph)
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def _booted(bench):
    driver = bench.driver()
    kernel = bench.kernel()
    driver.install(kernel, sha256(kernel))
    driver.boot()
    driver.shutdown()


@pytest.fixture
def capture(bench, _booted):
    """One capture, with some settings or deadlines changed; what was called before is forgotten."""

    def capture(within=None, **changes):
        directory = str(bench.dut.directory / "tmp")
        usual = {"event": "BU_CPU_CLK_UNHALTED", "duration_s": 0.2, "directory": directory}
        driver = bench.driver(profile=ProfileSettings(**(usual | changes)), within=within)
        try:
            return driver.capture("forwarding")
        finally:
            driver.shutdown()

    (bench.dut.directory / "run/calls").unlink(missing_ok=True)
    return capture


def test_sampling_begins_when_traffic_is_seen_and_ends_before_the_traffic_does(
    bench, capture, data
):
    """The stand-in's capture is idle if no packet passes at its first or its last moment."""
    assert format_folded(capture()) == format_folded(recorded(data, BUSY))
    assert not bench.generator.running("pkt-gen")
    place = f"{bench.dut.directory}/tmp/bench.pmc"
    assert [call for call in bench.dut.calls() if not call.startswith("ifconfig")] == [
        "kldload -n hwpmc",
        f"pmcstat -z 50 -S BU_CPU_CLK_UNHALTED -l 0.2 -O {place}.out",
        f"pmcstat -R {place}.out -z16 -G {place}.graph",
    ]
    assert list((bench.dut.directory / "tmp").iterdir()) == []


def test_traffic_that_does_not_last_as_long_as_the_sampling_is_refused(bench, capture):
    bench.network.script("short-traffic")
    with pytest.raises(InfraError, match="the traffic ended too soon"):
        capture(duration_s=1.0)


def test_without_traffic_nothing_is_sampled(bench, capture):
    bench.network.script("zero")
    with pytest.raises(InfraError, match="no traffic was seen within 5 s"):
        capture(within={"receiver_s": 5})
    assert not [call for call in bench.dut.calls() if call.startswith("pmcstat")]
    assert not bench.generator.running("pkt-gen")


def test_a_counter_that_the_dut_does_not_have_is_named_and_its_directory_not_left_mounted(
    bench, capture
):
    with pytest.raises(InfraError, match=r'specification "no_such_counter".*pmccontrol -L'):
        capture(event="no_such_counter", mount=True)
    assert not bench.generator.running("pkt-gen")
    place = f"{bench.dut.directory}/tmp"
    calls = [call for call in bench.dut.calls() if "mount" in call]
    assert calls == [f"mount {place}", f"umount {place}"]


def test_a_capture_that_came_over_in_part_is_refused(bench, capture):
    graph = bench.dut.directory / "run/busy.pmc.graph"
    whole = graph.read_text()
    graph.write_text(whole[: len(whole) // 2])
    with pytest.raises(InfraError, match=r"bench\.pmc\.graph:\d+: "):
        capture()
    graph.write_text(whole)
