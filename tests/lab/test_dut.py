"""A boot goes off → booted → ready, in no other order, and the first failure latches."""

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.driver import Dut, State
from buildbot_bench.lab.files import sha256
from tests.fakes.driver import KERNEL, FakeDriver

PANIC = UntestableRevision("panic: page fault")


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "kernel"
    path.write_text(KERNEL)
    return path


def dut_of(driver, kernel):
    return Dut(driver, kernel, sha256(kernel))


def test_a_boot_goes_from_off_to_ready_and_back(kernel):
    driver = FakeDriver()
    dut = dut_of(driver, kernel)
    states = [dut.state]
    with dut:
        for step in (dut.boot, dut.verify, lambda: dut.blast("forwarding")):
            step()
            states.append(dut.state)
    states.append(dut.state)
    assert states == [State.OFF, State.BOOTED, State.READY, State.READY, State.OFF]
    assert driver.verbs == ["install", "boot", "verify", "blast", "shutdown"]
    assert dut.console == "login:"


def test_a_kernel_is_installed_once_for_all_its_boots(kernel):
    driver = FakeDriver()
    dut = dut_of(driver, kernel)
    for _ in range(3):
        with dut:
            dut.boot()
    assert driver.verbs.count("install") == 1
    assert driver.verbs.count("boot") == 3


def test_traffic_is_refused_before_the_kernel_is_verified(kernel):
    driver = FakeDriver()
    dut = dut_of(driver, kernel)
    with pytest.raises(InfraError, match="the DUT is off"):
        dut.blast("forwarding")
    dut.boot()
    with pytest.raises(InfraError, match="the DUT is booted"):
        dut.blast("forwarding")
    assert "blast" not in driver.verbs


def test_the_first_failure_is_the_one_that_is_reported(kernel):
    driver = FakeDriver([("boot", PANIC)])
    dut = dut_of(driver, kernel)
    for step in (dut.boot, dut.verify, lambda: dut.blast("forwarding"), dut.boot):
        with pytest.raises(UntestableRevision, match="page fault"):
            step()
        assert dut.state is State.FAILED
    assert driver.verbs == ["install", "boot"]


def test_power_off_heals_a_failed_dut(kernel):
    dut = dut_of(FakeDriver([("verify", InfraError("another kernel")), 5.0]), kernel)
    dut.boot()
    with pytest.raises(InfraError):
        dut.verify()
    dut.power_off()
    with dut:
        dut.boot()
        dut.verify()
        assert dut.blast("forwarding").values == {"pps": 5.0}
