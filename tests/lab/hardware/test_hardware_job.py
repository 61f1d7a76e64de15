"""A kernel is installed, booted, verified and measured on machines behind ssh."""

import re
import subprocess
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.wire import Failed, FailureKind, Finished, split_logs
from buildbot_bench.lab.driver import Budget
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.facts import EMULATED
from buildbot_bench.lab.hardware.settings import ReferenceSettings, WorkloadSettings
from buildbot_bench.lab.pktgen import Reading, parse_receiver
from tests.fakes.lab_host.bench import archive, values
from tests.fakes.lab_host.machines import Host

PING = (("ping", "-c", "2", "198.19.0.203"),)


def test_a_sound_kernel_is_measured_as_often_as_asked(bench):
    measured, last = bench.run(bench.kernel(), iterations=2)
    assert last == Finished(iterations=2)
    assert all(700_000 <= value < 700_100 for value in values(measured))
    logs = split_logs(measured[0].log)
    assert logs.receiver.startswith("CMD on generator: pkt-gen -N -f rx -i igb2 -w 2 -W\n")
    reading = parse_receiver(logs.receiver)
    assert isinstance(reading, Reading)
    assert reading.median_pps == values(measured)[0]
    (sender,) = logs.senders
    assert sender.startswith("CMD on generator: pkt-gen -N -f tx -i igb1 ")
    assert "\nSpeed: 1466333 pps " in sender
    facts = measured[0].facts
    assert facts["uname"].startswith("FreeBSD 15.0-CURRENT #0 r311849")
    assert re.fullmatch("GENERIC [0-9a-f]{12}", facts["kernel configuration"])
    assert list(measured[0].values) == ["pps", "s to boot"]
    assert bench.dut.boots == 3
    tars = [call for call in bench.dut.calls() if call.startswith("tar")]
    assert len(tars) == 1
    assert [command.split()[3] for command in bench.pkt_gens()] == ["rx", "tx"] * 2


def test_a_new_kernel_takes_the_room_of_the_one_before_and_never_that_of_the_known_good(bench):
    driver = bench.driver()
    for label in ("r1", "r2"):
        kernel = bench.kernel(label=label)
        driver.install(kernel, sha256(kernel))
    names = {path.name for path in (bench.dut.directory / "boot").iterdir()}
    assert names == {"kernel", f"bench.{sha256(kernel)[:12]}"}
    driver.shutdown()


@pytest.mark.parametrize(
    "files",
    [
        {"boot/loader.conf": "x"},
        {"../kernel": "x", "readme": "y"},
        {"/etc/passwd": "x"},
    ],
)
def test_an_archive_without_a_kernel_is_untestable(bench, files):
    kernel = archive(bench.root / "odd.txz", files)
    driver = bench.driver()
    with pytest.raises(UntestableRevision):
        driver.install(kernel, sha256(kernel))
    assert bench.dut.calls() == []


def test_what_leads_out_of_a_kernels_directory_is_not_unpacked(bench):
    files = {"boot/kernel/kernel": "FreeBSD\n", "boot/kernel/../../etc/evil": "x", "/etc/evil": "y"}
    kernel = archive(bench.root / "evil.txz", files)
    driver = bench.driver()
    driver.install(kernel, sha256(kernel))
    driver.shutdown()
    assert not (bench.dut.directory / "etc/evil").exists()
    assert [path.name for path in (bench.dut.directory / "boot").glob("bench.*/*")] == ["kernel"]


def configs(bench, *parts):
    for part in parts or ("",):
        directory = bench.root / "configs" / part / "etc"
        directory.mkdir(parents=True)
        (directory / "pf.conf").write_text(f"pass # {part}\n")
    return bench.root / "configs"


def test_a_nanobsd_root_is_read_only_again_and_its_configuration_saved(bench):
    settings = bench.settings()
    forwarding = WorkloadSettings(ready=PING, configs=configs(bench))
    driver = bench.driver(
        dut=replace(settings.dut, bsdrp=True), workloads={"forwarding": forwarding}
    )
    kernel = bench.kernel()
    driver.install(kernel, sha256(kernel))
    driver.shutdown()
    mounts = [call for call in bench.dut.calls() if call.startswith(("mount", "config"))]
    assert mounts == ["mount -uw /", "mount -ur /"] * 2 + ["config save"]
    assert (bench.dut.directory / "etc/pf.conf").read_text() == "pass # \n"


def test_a_nanobsd_root_is_read_only_again_after_a_failure(bench):
    bench.dut.script("full-disk")
    driver = bench.driver(dut=replace(bench.settings().dut, nanobsd=True))
    kernel = bench.kernel()
    with pytest.raises(InfraError, match="No space left"):
        driver.install(kernel, sha256(kernel))
    driver.shutdown()
    mounts = [call for call in bench.dut.calls() if call.startswith("mount")]
    assert mounts == ["mount -uw /", "mount -ur /"]


def test_a_reference_endpoint_has_its_own_part_of_the_set_and_is_rebooted(bench, monkeypatch):
    reference = Host(bench.network, "reference", {})
    (reference.directory / "run/boottime").write_text("1700000000\n")
    reference.start_sshd()
    bench.hosts.append(reference)
    forwarding = WorkloadSettings(ready=PING, configs=configs(bench, "dut", "reference"))
    driver = bench.driver(
        reference=ReferenceSettings(address="reference", root=str(reference.directory)),
        workloads={"forwarding": forwarding},
        within={"reboot_s": 0.3},
    )
    kernel = bench.kernel()
    with pytest.raises(InfraError, match="is still on its old boot"):  # it is no DUT: it stays up
        driver.install(kernel, sha256(kernel))
    driver.shutdown()
    assert (bench.dut.directory / "etc/pf.conf").read_text() == "pass # dut\n"
    assert (reference.directory / "etc/pf.conf").read_text() == "pass # reference\n"
    assert reference.calls()[-1] == "shutdown -r now"


def test_tunables_are_set_by_the_loader_or_afterwards(bench):
    (bench.dut.directory / "run/sysctl/net.inet.ip.redirect").write_text("1\n")
    driver = bench.driver()
    driver.tune(["hw.igb.rx_process_limit=-1", "net.inet.ip.redirect=0"])
    _, last = bench.run(bench.kernel(), driver)
    assert last == Finished(iterations=1)
    words = "-e hw.igb.rx_process_limit=-1 -e net.inet.ip.redirect=0 -k bench."
    assert any(words in call for call in bench.dut.calls())
    assert (bench.dut.directory / "run/sysctl/hw.igb.rx_process_limit").read_text() == "-1\n"


def test_a_tunable_that_the_kernel_does_not_know_makes_it_untestable(bench):
    bench.dut.script("forgets-tunables")
    driver = bench.driver()
    driver.tune(["hw.igb.no_such=1"])
    _, last = bench.run(bench.kernel(), driver)
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "hw.igb.no_such=1 cannot be set: sysctl: unknown oid" in last.reason


def test_only_what_we_started_is_stopped(bench):
    """Whoever else uses pkt-gen on that host goes on."""
    ssh = ["ssh", "-F", str(bench.network.ssh_config), "generator"]
    other = subprocess.Popen([*ssh, "cp /bin/sleep ~/pkt-gen && exec ~/pkt-gen 60"])
    _, last = bench.run(bench.kernel())
    assert last == Finished(iterations=1)
    assert other.poll() is None
    other.kill()
    other.wait()


def test_two_senders_on_two_hosts_offer_the_load_together(bench):
    second = Host(bench.network, "second", {"igb1": "0c:c4:7a:ab:29:99"})
    second.start_sshd()
    bench.hosts.append(second)
    (bench.network.wire / "load").write_text("733166")
    settings = bench.settings()
    senders = (
        settings.senders[0],
        replace(settings.senders[0], address="second", mac="0c:c4:7a:ab:29:99"),
    )
    traffic = replace(settings.traffic, family="dual")
    _, last = bench.run(bench.kernel(), bench.driver(senders=senders, traffic=traffic))
    assert last == Finished(iterations=1)
    sent = [command for command in bench.pkt_gens() if " tx " in command]
    assert len(sent) == 2
    assert {" -4 " in command for command in sent} == {True, False}


@pytest.mark.parametrize(("guest", "told"), [("none", None), ("kvm", "kvm"), ("generic", EMULATED)])
def test_the_facts_say_what_a_measurement_depends_on(bench, guest, told):
    sysctls = {"hw.model": "AMD GX-412TC", "dev.igb.1.%desc": "i210", "kern.vm_guest": guest}
    for name, text in sysctls.items():
        (bench.dut.directory / "run/sysctl" / name).write_text(f"{text}\n")
    (bench.dut.directory / "etc/rc.conf").write_text("gateway_enable=YES\n")
    (measured,), _ = bench.run(bench.kernel())
    facts = bench.driver().facts() | measured.facts
    assert facts["cpu"] == "AMD GX-412TC"
    assert facts.get("virtual machine") == told
    assert facts["igb1"] == "i210"
    assert facts["microcode"] == "MSR 0x8b: 0x07030106 0x00000000"
    assert facts["/etc/rc.conf"] == sha256(bench.dut.directory / "etc/rc.conf")[:12]
    assert facts["offered load"] == "1466333 pps"
    assert facts["sender 0 command"].startswith("pkt-gen -N -f tx -i igb1 -n 733166 -l 60 -4")
    assert len(facts["sender 0 pkt-gen"]) == 12


def test_what_a_configuration_set_brings_counts_as_it_brings_it(bench):
    forwarding = WorkloadSettings(ready=PING, configs=bench.root / "configs")
    (bench.root / "configs/etc").mkdir(parents=True)
    (bench.root / "configs/etc/rc.conf").write_text("of the set\n")
    (bench.dut.directory / "etc/rc.conf").write_text("of the job before\n")
    driver = bench.driver(workloads={"forwarding": forwarding})
    (measured,), _ = bench.run(bench.kernel(), driver)
    facts = driver.facts() | measured.facts
    assert facts["/etc/rc.conf"] == sha256(bench.root / "configs/etc/rc.conf")[:12]


def test_the_facts_are_those_of_the_boot_under_test_and_not_of_the_job_before(bench):
    told = []
    for driver_of_the_port in ("igb(4)", "iflib's igb(4)", "igb(4)"):
        kernel = bench.kernel(more=f"dev.igb.1.%desc: {driver_of_the_port}\n")
        driver = bench.driver()
        before = driver.facts()
        (measured,), _ = bench.run(kernel, driver)
        told.append(before | measured.facts)
    assert [facts["igb1"] for facts in told] == ["igb(4)", "iflib's igb(4)", "igb(4)"]
    # Whatever ran before a job: measured alike, it tells alike.
    assert told[0] == told[2]


def test_the_known_good_kernel_is_told_apart_from_what_runs(bench):
    known_good = sha256(bench.dut.directory / "boot/kernel/kernel")[:12]
    for _ in range(2):
        facts = bench.driver().facts()
        assert facts["known-good kernel"] == known_good
        assert facts["userland"] == "14.0-RELEASE"
        bench.run(bench.kernel())
    assert bench.dut.running != "/boot/kernel/kernel"


def test_a_boot_that_gives_no_value_costs_no_facts(bench):
    bench.network.script("zero")
    measured, _ = bench.run(bench.kernel(), budget=Budget(pause_s=0.0))
    assert measured[0].failure
    assert measured[1].facts["dut"] == "dut"
