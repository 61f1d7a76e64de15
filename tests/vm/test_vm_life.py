"""The true life of a DUT: kernels that panic, hang, reset, mangle; and whose fault each is."""

import os
import signal
from dataclasses import replace

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.demo.cli import HANGS, PANICS
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.child import kill_leftovers
from buildbot_bench.lab.drivers.qemu import QemuDriver
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.virtual.settings import INSTRUCTIONS, QemuSettings
from tests.edits import Edit
from tests.fakes.vm_kernels import failing_under_traffic

pytestmark = pytest.mark.vm

FORWARD, MAIN = "src/forward.c", "src/main.c"
SETTINGS = QemuSettings(metric=INSTRUCTIONS, boot_timeout_s=15.0, stall_s=5.0)

WAYS_TO_FAIL = {
    "panics under traffic": (
        failing_under_traffic('panic("out of mbufs", 1);'),
        r"reset the machine \(panic: out of mbufs at 0x00000001\) under traffic",
    ),
    "hangs under traffic with interrupts off": (
        failing_under_traffic("interrupts_off(); for (;;) ;"),
        r"did not do its work: \d+ of 64 packets came back within 5 s .* under traffic",
    ),
    "faults thrice, which resets a PC without a word": (
        failing_under_traffic('__asm__ volatile("lidt 0; int3");'),
        r"reset the machine .* under traffic",
    ),
    "traps": (
        failing_under_traffic('__asm__ volatile("ud2");'),
        r"panic: trap in the kernel at 0x0010",
    ),
    "loses a packet now and then": (
        (
            Edit(
                path=FORWARD,
                old="\tdecrement_ttl(ip);\n",
                new="\tstatic int seen;\n\n\tif (++seen % 100 == 0)\n\t\treturn;\n"
                "\tdecrement_ttl(ip);\n",
            ),
        ),
        r"63 of 64 packets came back",
    ),
    "mends no checksum": (
        (Edit(path=FORWARD, old="\tip->checksum = swap16((uint16_t)~sum);\n", new=""),),
        r"packet 1 of a burst came out as",
    ),
    "has no route": (
        (Edit(path="src/route.c", old="\t\t\treturn table[i].interface;\n", new="\t\t\tbreak;\n"),),
        r"forwarded nothing within 15 s .* when it booted",
    ),
    "says not who it is": (
        (Edit(path=MAIN, old="\tprint_identity();\n\ttrap_init", new="\ttrap_init"),),
        r"does not say on its console which one it is",
    ),
}


def run_once(driver, kernel):
    with Dut(driver, kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        return dut.blast("forwarding")


@pytest.mark.parametrize("way", WAYS_TO_FAIL)
def test_a_kernel_that_fails_is_untestable_when_a_good_one_then_works(way, kernels, tmp_path):
    edits, complaint = WAYS_TO_FAIL[way]
    driver = QemuDriver(replace(SETTINGS, known_good=kernels()), tmp_path)
    with pytest.raises(UntestableRevision, match=complaint):
        run_once(driver, kernels("r320000", edits))


@pytest.mark.parametrize(
    ("label", "complaint"),
    [
        (PANICS, r"reset the machine \(panic: the forwarding table is full .* when it booted"),
        (HANGS, r"forwarded nothing within 15 s \(its last words: build-id"),
    ],
)
def test_the_history_has_a_kernel_that_panics_and_one_that_hangs(
    label, complaint, kernels, tmp_path
):
    driver = QemuDriver(SETTINGS, tmp_path)
    with pytest.raises(UntestableRevision, match=complaint):
        run_once(driver, kernels(label))
    assert "build-id: " in driver.console()
    assert run_once(driver, kernels()).values


def test_the_lab_is_at_fault_when_the_known_good_kernel_fails_too(kernels, tmp_path):
    settings = replace(SETTINGS, known_good=kernels(PANICS))
    with pytest.raises(InfraError, match="but the lab is no better: the known-good kernel reset"):
        run_once(QemuDriver(settings, tmp_path), kernels(PANICS))


def test_a_kernel_that_never_sleeps_is_not_traced(kernels, tmp_path):
    restless = Edit(path=MAIN, old="\t\twait_for_interrupt();\n", new="\t\trelax();\n")
    relax = Edit(
        path="src/io.h",
        old="#endif\n",
        new='#define relax() __asm__ volatile("sti; nop; cli")\n\n#endif\n',
    )
    kernel = kernels("r320000", (restless, relax))
    with Dut(QemuDriver(QemuSettings(), tmp_path), kernel, sha256(kernel)) as dut:
        dut.boot()
        dut.verify()
        with pytest.raises(InfraError, match="never sleeps"):
            dut.capture("forwarding")


def test_another_build_than_the_one_installed_is_refused(kernels, tmp_path):
    liar = Edit(
        path=MAIN,
        old="\t\tprint_hex(build_id[BUILD_ID_OFFSET + i], 2);\n",
        new="\t\tprint_hex(7, 2);\n",
    )
    with pytest.raises(InfraError, match="the DUT runs build 0707"):
        run_once(QemuDriver(SETTINGS, tmp_path), kernels("r320000", (liar,)))


def test_a_qemu_that_somebody_kills_is_no_fault_of_the_kernel(kernels, tmp_path):
    driver = QemuDriver(SETTINGS, tmp_path)
    with Dut(driver, kernels(), sha256(kernels())) as dut:
        dut.boot()
        dut.verify()
        os.kill(driver._running._child.pid, signal.SIGKILL)
        with pytest.raises(InfraError, match="QEMU was killed by SIGKILL"):
            dut.blast("forwarding")


def test_what_a_killed_runner_left_running_is_ended_by_the_next_job(kernels, tmp_path):
    forgotten = QemuDriver(SETTINGS, tmp_path)
    forgotten.install(kernels(), sha256(kernels()))
    forgotten.boot()
    QemuDriver(SETTINGS, tmp_path).install(kernels(), sha256(kernels()))
    assert forgotten._running._child.wait(60.0)
    forgotten.shutdown()


def test_a_machine_that_is_switched_off_leaves_no_process(kernels, tmp_path):
    driver = QemuDriver(SETTINGS, tmp_path)
    driver.install(kernels(), sha256(kernels()))
    driver.boot()
    child = driver._running._child
    driver.shutdown()
    assert child.ending() == "was killed by SIGKILL"
    kill_leftovers(tmp_path)
