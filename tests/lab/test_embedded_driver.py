"""Programs are measured as kernels are, and each way in which one fails is told apart."""

import os
import signal
import statistics
import time

import pytest

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.wire import Failed, FailureKind
from buildbot_bench.lab.driver import Dut
from buildbot_bench.lab.drivers.child import ChildProcess, kill_leftovers, last_cpu
from buildbot_bench.lab.drivers.embedded import EmbeddedDriver, EmbeddedSettings
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.pktgen import HEAD_LINES, TAIL_LINES
from tests.fakes.kernels import misbehaving_kernel, sound_kernel
from tests.fakes.lab import Lab, events_of, is_alive, wait_for
from tests.running import ran

QUICK = EmbeddedSettings(duration_s=0.2, boot_timeout_s=2.0)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    return sound_kernel(tmp_path_factory.mktemp("kernel"))


@pytest.fixture
def measure(home):
    """One boot and one blast of a kernel; the Dut is left for what its console said."""

    def measure(kernel, settings=QUICK):
        with Dut(EmbeddedDriver(settings, home), kernel, sha256(kernel)) as dut:
            dut.boot()
            dut.verify()
            return dut.blast("forwarding")

    return measure


def test_a_sound_kernel_has_an_efficiency_and_a_rate(measure, kernel):
    blast = measure(kernel, EmbeddedSettings(duration_s=0.5))
    assert list(blast.values) == ["packets/CPU-s", "pps", "s to boot"]
    assert all(value > 0 for value in blast.values.values())
    assert "main_thread" in blast.log


def test_the_scale_is_the_controls(measure, kernel):
    """The first kernel of the demonstration does about the same work as the control."""
    values = [measure(kernel).values["packets/CPU-s"] for _ in range(3)]
    assert 0.5 < statistics.median(values) / QUICK.control_rate < 2.0


def test_sender_and_receiver_print_what_pkt_gen_prints(measure, kernel):
    lines = measure(kernel, EmbeddedSettings(duration_s=0.5)).log.splitlines()
    intervals = [line for line in lines if "main_thread" in line]
    assert len(lines) > HEAD_LINES + TAIL_LINES
    assert " pps (" in intervals[0]
    assert intervals[0].endswith("avg_batch 0 min_space")
    assert lines[-3].startswith("Received ")


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("CRASH", "the kernel was killed by SIGABRT when it booted"),
        ("EXIT", "the kernel ended with status 3 when it booted"),
        ("HANG", "the kernel was not up after 0.5 s when it booted"),
        ("SPIN", "the kernel was not up after 0.5 s when it booted"),
        ("SILENT", "the kernel passes no traffic"),
        ("DIE", "the kernel was killed by SIGABRT under traffic"),
        ("DAMAGE", "the kernel damaged"),
        ("LOSE", "the kernel lost"),
    ],
)
def test_a_failing_kernel_is_untestable_and_says_how(measure, tmp_path, way, reason):
    boot_timeout_s = 0.5 if way in {"HANG", "SPIN"} else 10.0
    settings = EmbeddedSettings(duration_s=0.1, boot_timeout_s=boot_timeout_s)
    with pytest.raises(UntestableRevision) as caught:
        measure(misbehaving_kernel(tmp_path, way), settings)
    assert reason in str(caught.value)


def test_the_console_of_a_failed_boot_is_kept(home, tmp_path):
    kernel = misbehaving_kernel(tmp_path, "CRASH")
    dut = Dut(EmbeddedDriver(QUICK, home), kernel, sha256(kernel))
    with pytest.raises(UntestableRevision):
        dut.boot()
    dut.power_off()
    assert "FreeBSD 12.0-CURRENT #0" in dut.console


def test_a_kernel_cannot_fill_the_disk(measure, home, tmp_path):
    with pytest.raises(UntestableRevision, match="SIGXFSZ"):
        measure(misbehaving_kernel(tmp_path, "FLOOD"))
    assert (home / "logs" / "kernel.out").stat().st_size <= 1 << 20


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/nonexistent\n", b"hello\n"])
def test_an_artefact_that_is_no_program_is_untestable(measure, tmp_path, content):
    artefact = tmp_path / "artefact"
    artefact.write_bytes(content)
    with pytest.raises(UntestableRevision):
        measure(artefact)


def test_a_kernel_that_is_not_the_one_asked_for_is_refused(home, kernel, tmp_path):
    driver = EmbeddedDriver(QUICK, home)
    driver.install(kernel, sha256(kernel))
    try:
        driver.boot()
        driver._digest = "0" * 64
        with pytest.raises(InfraError, match=r"the DUT runs .*, not 000000000000"):
            driver.verify()
    finally:
        driver.shutdown()


def test_a_lab_without_a_compiler_is_at_fault_and_says_so(monkeypatch, tmp_path, kernel):
    monkeypatch.setenv("CC", "no-such-compiler")
    driver = EmbeddedDriver(QUICK, tmp_path)
    assert [finding.fine for finding in driver.check()] == [False]
    driver.install(kernel, sha256(kernel))
    with pytest.raises(InfraError, match="there is no C compiler"):
        driver.boot()
    driver.shutdown()


def test_a_compiler_that_fails_is_a_fault_of_the_lab(monkeypatch, tmp_path, kernel):
    monkeypatch.setenv("CC", "false")
    driver = EmbeddedDriver(QUICK, tmp_path)
    driver.install(kernel, sha256(kernel))
    with pytest.raises(InfraError, match="does not compile"):
        driver.boot()
    assert not driver.check()[-1].fine


def test_nothing_runs_on_after_a_shutdown(home, tmp_path):
    kernel = misbehaving_kernel(tmp_path, "STUBBORN")
    driver = EmbeddedDriver(QUICK, home)
    driver.install(kernel, sha256(kernel))
    driver.boot()
    pids = [child.pid for child in driver._running._children.values()]
    driver.shutdown()
    assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)


def test_a_child_ends_when_its_time_is_over_and_nobody_is_left_to_kill_it(tmp_path):
    child = ChildProcess(["sleep", "60"], tmp_path / "out", cpu=last_cpu(), lifetime_s=0.2)
    assert child.wait(120)
    assert child.ending() == "was killed by SIGALRM"


def test_what_a_killed_predecessor_left_running_is_ended(tmp_path):
    program = tmp_path / "kernel"
    program.symlink_to("/bin/sleep")
    left = ChildProcess([str(program), "60"], tmp_path / "out", cpu=last_cpu(), lifetime_s=60)
    other = ChildProcess(["/bin/sleep", "60"], tmp_path / "other", cpu=last_cpu(), lifetime_s=60)
    kill_leftovers(tmp_path)
    assert left.wait(120)
    assert other.ending() is None
    other.kill()


def test_a_killed_runner_is_replaced_on_the_embedded_testbed(tmp_path, kernel):
    lab = Lab(tmp_path)
    foreground = lab.start(lab.run_command("a", testbed="embedded", artefact=kernel, iterations=20))
    wait_for(lambda: lab.measured("a"))
    os.kill(lab.runner_pid("a"), signal.SIGKILL)
    stdout, stderr = foreground.communicate(timeout=60)
    assert foreground.returncode == 0, stdout + stderr
    assert [event.ordinal for event in lab.measured("a")] == list(range(20))
    assert all(event.values for event in lab.measured("a"))


def test_cancelling_leaves_no_kernel_behind(tmp_path):
    lab = Lab(tmp_path)
    hung = misbehaving_kernel(tmp_path, "SPIN")
    foreground = lab.start(lab.run_command("a", testbed="embedded", artefact=hung))
    program = lab.state / "testbeds" / "embedded" / "boot" / "kernel"
    wait_for(lambda: processes_of(program))
    assert lab.do(lab.command("cancel", "--job=a")).returncode == 0
    stdout, _ = foreground.communicate(timeout=60)
    last = events_of(stdout)[-1]
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    wait_for(lambda: not processes_of(program))


def test_a_runner_that_is_told_to_end_takes_its_kernel_with_it(tmp_path):
    lab = Lab(tmp_path)
    hung = misbehaving_kernel(tmp_path, "SPIN")
    foreground = lab.start(lab.run_command("a", testbed="embedded", artefact=hung))
    program = lab.state / "testbeds" / "embedded" / "boot" / "kernel"
    wait_for(lambda: processes_of(program))
    foreground.kill()
    foreground.communicate()
    runner = lab.runner_pid("a")
    os.kill(runner, signal.SIGTERM)
    wait_for(lambda: not is_alive(runner))
    assert not processes_of(program)
    assert not any(isinstance(event, Failed) for event in lab.events("a"))


def processes_of(program):
    listing = ran(["ps", "-A", "-ww", "-o", "args="])
    return [line for line in listing.stdout.splitlines() if line.startswith(str(program))]


def test_an_iteration_takes_no_longer_than_it_must(measure, kernel):
    """No promise of speed: that nothing waits for a deadline when all is well."""
    measure(kernel)
    began_s = time.monotonic()
    measure(kernel, EmbeddedSettings(duration_s=0.1, boot_timeout_s=15.0))
    assert time.monotonic() - began_s < 10
