"""Every fault of the lab: recorded with its reason, repeated within a budget, never a verdict."""

import pytest

from buildbot_bench.core.wire import Failed, FailureKind, Finished
from buildbot_bench.lab.power import CommandPower
from tests.fakes.lab_host.bench import USUAL, values


def ill(last: Finished | Failed, *words: str) -> None:
    assert isinstance(last, Failed), last
    assert last.kind is FailureKind.INFRASTRUCTURE, last
    for word in words:
        assert word in last.reason


def test_a_slow_shutdown_is_not_taken_for_a_reboot(bench):
    bench.dut.script("slow-shutdown")
    _, last = bench.run(bench.kernel())
    assert last == Finished(iterations=1)
    assert bench.dut.boots == 2


def test_a_shutdown_that_hangs_is_ended_by_the_power_driver_and_the_kernel_boots(bench):
    bench.dut.script("hung-shutdown")
    measured, last = bench.run(bench.kernel(), bench.driver(within={"reboot_s": 2}))
    assert last == Finished(iterations=1)
    assert len(values(measured)) == 1
    assert "power-cycling dut" in bench.said


def test_a_shutdown_that_hangs_without_a_power_driver_is_a_fault_of_the_lab(bench):
    bench.dut.script("hung-shutdown")
    _, last = bench.run(bench.kernel(), bench.driver(power=None, within={"reboot_s": 0.5}))
    ill(last, "is still on its old boot after 0.5 s")


def test_a_power_driver_that_fails_is_named(bench):
    broken = CommandPower(cycle_command=("false",))
    _, last = bench.run(bench.kernel("DEBUGGER"), bench.driver(power=broken))
    ill(last, "power: false failed")


def test_a_kernel_other_than_the_one_asked_for_is_refused(bench):
    bench.dut.script("other-kernel")
    _, last = bench.run(bench.kernel())
    ill(last, "says of itself 'FreeBSD 13.0 #0 r308680", "would be another kernel's")


def test_a_full_disk_is_named_and_left_as_it_was(bench):
    bench.dut.script("full-disk")
    _, last = bench.run(bench.kernel())
    ill(last, "No space left on device", "make room in")
    assert not list((bench.dut.directory / "boot").glob("bench.*"))


def test_an_ssh_connection_that_dies_under_traffic_costs_one_run(bench):
    bench.network.script("ssh-dies")
    measured, last = bench.run(bench.kernel(), budget=USUAL)
    assert last == Finished(iterations=1)
    assert "ssh lost a sender under traffic" in (measured[0].failure or "")
    assert len(values(measured)) == 1


def test_a_dut_that_an_earlier_job_left_hanging_is_brought_back(bench):
    bench.dut.stop_sshd()
    _, last = bench.run(bench.kernel())
    assert last == Finished(iterations=1)
    assert "power-cycling dut" in bench.said


def test_a_shutdown_that_takes_its_own_ssh_along_is_no_failure(bench):
    bench.dut.script("shutdown-ends-ssh")
    _, last = bench.run(bench.kernel())
    assert last == Finished(iterations=1)
    assert "ssh was lost as the DUT went down" in bench.said


def test_a_host_with_another_key_than_the_known_one_is_not_spoken_to(bench):
    known = bench.network.root / "known_hosts"
    other = (bench.network.root / "user_key.pub").read_text().split()[1]
    places = [line.split()[0] for line in known.read_text().splitlines()]
    known.write_text("".join(f"{place} ssh-ed25519 {other}\n" for place in places))
    _, last = bench.run(bench.kernel())
    ill(last, "dut is not the host that it was: Host key verification failed", "known_hosts")
    assert bench.dut.calls() == []
    assert "power-cycling dut" not in bench.said


def test_a_clock_that_ntpd_steps_under_traffic_is_no_reboot(bench):
    bench.dut.script("clock-steps")
    measured, last = bench.run(bench.kernel(), iterations=2)
    assert last == Finished(iterations=2)
    assert len(values(measured)) == 2


@pytest.mark.parametrize("more", [(), ("clock-steps",), ("clock-begins-anew",)])
def test_a_system_without_boot_ids_is_watched_by_how_long_it_is_up(bench, more):
    """FreeBSD 12 and earlier; its firmware takes some seconds, as any does."""
    for name in ("no-boot-id", "slow-firmware", *more):
        bench.dut.script(name)
    _, last = bench.run(bench.kernel())
    assert last == Finished(iterations=1)
    _, last = bench.run(bench.kernel("DIES"))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "did not outlive the traffic" in last.reason
