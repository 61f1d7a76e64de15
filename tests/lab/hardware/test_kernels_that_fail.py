"""Every way in which a kernel fails: recognised, rescued, and told from a fault of the lab."""

import pytest

from buildbot_bench.core.wire import Failed, FailureKind, Finished
from buildbot_bench.lab.hardware.settings import ConsoleSettings
from tests.fakes.lab_host.bench import USUAL, values

UNTESTABLE, INFRASTRUCTURE = FailureKind.UNTESTABLE, FailureKind.INFRASTRUCTURE
NO_CONSOLE = ConsoleSettings()
SOON = {"reboot_s": 0.3}  # for what never comes


def ended(last: Finished | Failed, kind: FailureKind, *words: str) -> None:
    assert isinstance(last, Failed), last
    assert last.kind is kind, last
    for word in words:
        assert word in last.reason


def test_a_panic_at_boot_falls_back_and_is_untestable(bench):
    measured, last = bench.run(bench.kernel("PANIC"))
    ended(last, UNTESTABLE, "fell back", "panic: page fault", "the known-good kernel boots")
    assert "panic: page fault" in measured[0].log
    assert bench.dut.running == "/boot/kernel/kernel"


def test_a_panic_that_no_console_shows_is_untestable_when_nextboot_is_seen_to_work(bench):
    _, last = bench.run(bench.kernel("PANIC"), bench.driver(console=NO_CONSOLE))
    ended(last, UNTESTABLE, "fell back")
    assert bench.dut.running == "/boot/bench.control/kernel"


def test_a_loader_that_does_not_heed_nextboot_is_a_fault_of_the_lab(bench):
    bench.dut.script("ignores-nextboot")
    _, last = bench.run(bench.kernel())
    ended(last, INFRASTRUCTURE, "fell back", "see whether the loader reads /boot/nextboot.conf")


def test_a_kernel_that_hangs_is_power_cycled_and_untestable(bench):
    driver = bench.driver(console=NO_CONSOLE, within={"reboot_s": 2})
    _, last = bench.run(bench.kernel("HANG"), driver)
    ended(last, UNTESTABLE, "does not answer after 2 s, then fell back")
    assert bench.said.count("power-cycling dut") == 1


def test_a_kernel_in_its_debugger_is_not_waited_for(bench):
    _, last = bench.run(bench.kernel("DEBUGGER"))
    ended(last, UNTESTABLE, "panic: mutex not owned")
    assert "power-cycling dut" in bench.said


@pytest.mark.parametrize("way", ["KDB_PANIC", "KDB_DIES"])
def test_a_kernel_with_a_debugger_panics_and_comes_back_by_itself(bench, way):
    """GENERIC of CURRENT stays in its debugger otherwise, until somebody takes the power away."""
    _, last = bench.run(bench.kernel(way), bench.driver(power=None))
    ended(last, UNTESTABLE, "the known-good kernel boots")
    assert bench.dut.running == "/boot/kernel/kernel"


def test_a_debugger_that_was_asked_for_is_left_to_who_asked(bench):
    driver = bench.driver(within={"ready_s": 1})
    driver.tune(["debug.debugger_on_panic=1"])
    _, last = bench.run(bench.kernel("KDB_DIES"), driver)
    ended(last, UNTESTABLE)
    assert "KDB: enter: panic" in bench.dut.console.read_text()


def test_a_boot_loop_is_ended_by_the_power_driver(bench):
    _, last = bench.run(bench.kernel("LOOP"))
    ended(last, UNTESTABLE, "boots over and over")
    assert bench.dut.running == "/boot/kernel/kernel"


def test_a_kernel_whose_ports_do_not_come_up_is_untestable(bench):
    _, last = bench.run(bench.kernel("NOT_READY"), bench.driver(within={"ready_s": 1}))
    ended(last, UNTESTABLE, "was not ready after 1 s", "ping: sendto: Network is down")


def test_a_kernel_that_panics_before_it_is_ready_is_untestable(bench):
    _, last = bench.run(bench.kernel("LATE"))
    ended(last, UNTESTABLE, "fell back", "panic: page fault", "before it was ready")


def test_a_kernel_that_passes_no_traffic_is_untestable_when_the_known_good_one_does(bench):
    _, last = bench.run(bench.kernel("NO_TRAFFIC"))
    ended(last, UNTESTABLE, "0 pps for the whole run; the known-good kernel passes traffic")


def test_a_kernel_that_passes_a_few_packets_and_no_more_passes_no_traffic(bench):
    _, last = bench.run(bench.kernel("STALLS"))
    ended(last, UNTESTABLE, "0 pps in each of the", "the known-good kernel passes traffic")


def test_no_traffic_with_the_known_good_kernel_either_is_a_fault_of_the_lab(bench):
    bench.network.script("zero", times=2)
    _, last = bench.run(bench.kernel())
    ended(last, INFRASTRUCTURE, "0 pps for the whole run", "with the known-good kernel")


def test_a_kernel_that_panics_under_traffic_is_untestable(bench):
    _, last = bench.run(bench.kernel("DIES"))
    ended(last, UNTESTABLE, "did not outlive the traffic (panic: page fault)")
    # Not buried by what pkt-gen says, nor by the next boot.
    assert "panic: page fault" in last.log


def test_a_kernel_gets_a_second_chance_and_both_attempts_are_recorded(bench):
    measured, last = bench.run(bench.kernel("PANIC"), budget=USUAL)
    ended(last, UNTESTABLE)
    assert [event.ordinal for event in measured] == [0, 1]
    assert all(event.failure for event in measured)


def test_a_bounced_link_is_recorded_and_the_run_repeated(bench):
    bench.network.script("zero")
    measured, last = bench.run(bench.kernel(), budget=USUAL)
    assert last == Finished(iterations=1)
    assert "0 pps for the whole run" in (measured[0].failure or "")
    assert len(values(measured)) == 1


def test_a_hang_without_a_power_driver_is_a_fault_of_the_lab(bench):
    _, last = bench.run(bench.kernel("HANG"), bench.driver(power=None, within={"reboot_s": 2}))
    ended(last, INFRASTRUCTURE, "does not answer", "there is no power driver: go and look")


def test_a_known_good_kernel_that_does_not_boot_either_is_a_fault_of_the_lab(bench):
    bench.dut.known_good("FreeBSD 14.0-RELEASE: its disk is dying\nway: HANG\n")
    _, last = bench.run(bench.kernel("HANG"), bench.driver(within=SOON))
    ended(last, INFRASTRUCTURE, "the known-good kernel does not come up")
    assert bench.said.count("power-cycling dut") == 5
