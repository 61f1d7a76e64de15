"""A testbed of FreeBSD's kind, by a kernel of our own that is booted and forwards as one does."""

import lzma
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings
from tests.edits import Edit
from tests.fakes.freebsd_kernels import forwarding_kernel, preloaded_module

pytestmark = pytest.mark.vm

SETTINGS = QemuSettings(
    system="freebsd", metric=INSTRUCTIONS, memory_mib=160, boot_timeout_s=20.0, stall_s=2.0
)
SILENT = Edit(path="src/route.c", old="\t\t\treturn table[i].interface;\n", new="\t\t\tbreak;\n")


@pytest.fixture(scope="module")
def kernel(kernels, tmp_path_factory) -> Path:
    return forwarding_kernel(tmp_path_factory.mktemp("forwarding"), kernels())


@pytest.fixture(scope="module")
def silent_kernel(kernels, tmp_path_factory) -> Path:
    toy = kernels("r320000", (SILENT,))
    return forwarding_kernel(tmp_path_factory.mktemp("silent"), toy)


@pytest.fixture
def archive(kernel, tmp_path):
    """An archive as a builder packs it."""

    def archive(*modules: Path) -> Path:
        path = tmp_path / "kernel.txz"
        with (
            lzma.open(path, "wb", preset=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as tar,
        ):
            for file in (kernel, *modules):
                tar.add(file, f"boot/kernel/{'kernel' if file == kernel else file.name}")
        return path

    return archive


def run_once(driver, artefact):
    with Dut(driver, artefact, sha256(artefact)) as dut:
        dut.boot()
        dut.verify()
        return dut.blast("forwarding")


def test_an_archive_and_a_kernel_alone_are_measured_alike(archive, kernel, tmp_path):
    packed = run_once(QemuDriver(SETTINGS, tmp_path / "a"), archive())
    alone = run_once(QemuDriver(SETTINGS, tmp_path / "b"), kernel)
    assert packed.values == alone.values
    assert packed.values[INSTRUCTIONS] > 500


def test_a_kernel_has_kenv_modules_and_tunables(archive, tmp_path):
    settings = replace(SETTINGS, kenv=("kern.hz=10",), modules=("checked",))
    driver = QemuDriver(settings, tmp_path / "home")
    driver.tune(("net.inet.ip.ttl=7",))
    run_once(driver, archive(preloaded_module(tmp_path)))
    said = driver.console()
    assert "kenv: kern.hz=10" in said
    assert "kenv: kern.hz=40" not in said  # as it is while instructions are counted
    assert "kenv: kern.eventtimer.periodic=1" in said
    assert "kenv: net.inet.ip.ttl=7" in said
    assert "name: /boot/kernel/checked.ko" in said
    assert "answer: 42" in said
    assert "WRONG" not in said


def test_where_no_kernel_ever_forwarded_a_kernel_that_does_not_is_no_news(silent_kernel, tmp_path):
    driver = QemuDriver(SETTINGS, tmp_path)
    with pytest.raises(InfraError, match="no kernel ever forwarded on this testbed") as caught:
        run_once(driver, silent_kernel)
    assert "forwarded nothing within 20 s" in caught.value.message
    assert "the console's last lines: " in caught.value.message
    assert caught.value.message.endswith("| forwarding")
    assert "known_good" in caught.value.hint


def test_where_one_forwarded_a_kernel_that_does_not_is_to_blame(archive, silent_kernel, tmp_path):
    driver = QemuDriver(SETTINGS, tmp_path / "home")
    run_once(driver, archive())
    with pytest.raises(UntestableRevision, match="forwarded nothing within 20 s"):
        run_once(driver, silent_kernel)


def test_a_module_that_an_archive_lacks_is_told(archive, kernel, tmp_path):
    settings = replace(SETTINGS, modules=("pf",))
    driver = QemuDriver(settings, tmp_path / "home")
    with pytest.raises(InfraError, match=r"no pf\.ko, .* no kernel ever forwarded"):
        run_once(driver, archive())
    with_good = QemuDriver(replace(settings, modules=(), known_good=kernel), tmp_path / "other")
    run_once(with_good, archive())
    driver = QemuDriver(replace(settings, known_good=kernel), tmp_path / "home")
    with pytest.raises(InfraError, match=r"no pf\.ko"):  # nor has the known-good one
        run_once(driver, archive())


def test_a_machine_with_too_little_memory_says_so(kernel, tmp_path):
    settings = replace(SETTINGS, memory_mib=128)
    assert run_once(QemuDriver(settings, tmp_path), kernel).values


def test_the_check_up_boots_a_kernel_by_the_loader(tmp_path):
    findings = {f.subject: f for f in QemuDriver(SETTINGS, tmp_path).check()}
    assert findings["loader"].fine, findings
    assert "checked" in findings["loader"].detail
