"""What bench-lab tells of a testbed in a virtual machine."""

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.machine import boots
from buildbot_bench.lab.virtual.settings import QemuSettings
from tests.fakes.vm_kernels import PROGRAM, need_machine

pytestmark = pytest.mark.vm


def test_a_boot_sector_boots_and_another_machine_does_not_in_no_time(tmp_path):
    need_machine()
    assert boots(PROGRAM, tmp_path / 'a lab, "ours"', "tcg")
    assert not boots(PROGRAM, tmp_path, "tcg", limit_s=0.01)


def test_kvm_is_taken_only_where_a_guest_boots_by_it(tmp_path):
    need_machine()
    driver = QemuDriver(QemuSettings(accelerator="auto"), tmp_path)
    findings = {finding.subject: finding.detail for finding in driver.check()}
    works = findings["KVM"] == "a guest boots by it"
    assert driver.facts()["accelerator"] == ("kvm" if works else "tcg")


def test_a_known_good_kernel_that_is_missing_is_told(tmp_path):
    need_machine()
    settings = QemuSettings(known_good=tmp_path / "absent")
    (missing,) = [f for f in QemuDriver(settings, tmp_path).check() if not f.fine]
    assert "absent is missing" in missing.detail


def test_without_qemu_one_is_told_what_to_install(tmp_path):
    driver = QemuDriver(QemuSettings(program="qemu-of-nobody"), tmp_path)
    (finding,) = driver.check()
    assert finding.detail == "there is no qemu-of-nobody"
    assert "apt-get install qemu-system-x86" in finding.remedy
    kernel = tmp_path / "artefact"
    kernel.write_bytes(b"a kernel")
    driver.install(kernel, sha256(kernel))
    with pytest.raises(InfraError, match="there is no qemu-of-nobody"):
        driver.boot()


def test_a_qemu_that_is_too_old_is_a_fault_of_the_lab(tmp_path):
    old = tmp_path / "qemu-old"
    old.write_text("#!/bin/sh\necho QEMU emulator version 6.2.0\n")
    old.chmod(0o755)
    driver = QemuDriver(QemuSettings(program=str(old)), tmp_path)
    (finding,) = driver.check()
    assert (finding.detail, finding.remedy) == (
        "QEMU emulator version 6.2.0 has no stream network",
        "install QEMU 7.2 or newer",
    )
    with pytest.raises(InfraError, match="no stream network"):
        driver.facts()
