"""A kernel under test in a boot environment of its own: a clone of the known-good one."""

from dataclasses import replace

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.wire import Failed, FailureKind, Finished
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.settings import (
    BootEnvironmentSettings,
    DutSettings,
    SliceSettings,
    WorkloadSettings,
)
from tests.fakes.lab_host.bench import values

PING = (("ping", "-c", "2", "198.19.0.203"),)


@pytest.fixture
def zfs(bench):
    bench.dut.have_boot_environments()
    return bench


def driver(bench, **changes):
    dut = replace(bench.settings().dut, boot_environments=BootEnvironmentSettings())
    return bench.driver(dut=dut, **changes)


def test_a_kernel_is_booted_from_a_clone_once_for_each_iteration(zfs):
    kernel = zfs.kernel()
    measured, last = zfs.run(kernel, driver(zfs), iterations=2)
    assert last == Finished(iterations=2)
    assert len(values(measured)) == 2
    name = f"bench.{sha256(kernel)[:12]}"
    assert zfs.dut.running == f"/boot/{name}/kernel"
    assert not (zfs.dut.directory / "be/default/boot" / name).exists()
    calls = [call for call in zfs.dut.calls() if call.startswith("bectl activate")]
    assert calls == ["bectl activate -t bench"] * 2
    assert "nextboot" not in " ".join(zfs.dut.calls())


def test_the_next_job_begins_from_the_known_good_environment(zfs):
    zfs.run(zfs.kernel(), driver(zfs))
    (zfs.dut.directory / "boot/left-behind").touch()
    _, last = zfs.run(zfs.kernel(label="r2"), driver(zfs))
    assert last == Finished(iterations=1)
    assert not (zfs.dut.directory / "boot/left-behind").exists()


def test_a_kernel_that_panics_falls_back_to_the_known_good_environment(zfs):
    _, last = zfs.run(zfs.kernel("PANIC"), driver(zfs))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE
    assert "panic: page fault; the known-good kernel boots" in last.reason.replace(")", "")
    assert (zfs.dut.directory / "run/be").read_text() == "default\n"


def test_a_kernel_with_a_debugger_comes_back_by_itself(zfs):
    _, last = zfs.run(zfs.kernel("KDB_PANIC"), driver(zfs, power=None))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE


def test_a_loader_that_does_not_heed_the_activation_is_a_fault_of_the_lab(zfs):
    zfs.dut.script("ignores-nextboot")
    _, last = zfs.run(zfs.kernel(), driver(zfs))
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.INFRASTRUCTURE
    assert "see whether the loader heeds `bectl activate -t`" in last.reason


def test_a_panic_that_no_console_shows_is_untestable_when_the_activation_is_seen_to_work(zfs):
    settings = zfs.settings()
    _, last = zfs.run(
        zfs.kernel("PANIC"), driver(zfs, console=replace(settings.console, file=None))
    )
    assert isinstance(last, Failed)
    assert last.kind is FailureKind.UNTESTABLE


def test_tunables_come_after_what_the_set_has_for_the_loader(zfs):
    configs = zfs.root / "configs"
    (configs / "boot").mkdir(parents=True)
    (configs / "boot/loader.conf.local").write_text('hw.igb.rx_process_limit="100"\n')
    workloads = {"forwarding": WorkloadSettings(ready=PING, configs=configs)}
    used = driver(zfs, workloads=workloads)
    used.tune(["hw.igb.rx_process_limit=-1"])
    _, last = zfs.run(zfs.kernel(), used, iterations=2)
    assert last == Finished(iterations=2)
    own = (zfs.dut.directory / "be/bench/boot/loader.conf.local").read_text().splitlines()
    assert own[0] == 'hw.igb.rx_process_limit="100"'
    assert own[1:3] == ['debug.debugger_on_panic="0"', 'hw.igb.rx_process_limit="-1"']
    assert len(own) == 4
    known_good = zfs.dut.directory / "be/default/boot/loader.conf.local"
    assert known_good.read_text() == 'hw.igb.rx_process_limit="100"\n'
    zfs.run(zfs.kernel(), driver(zfs))
    assert not known_good.exists()


def test_the_check_up_looks_for_the_known_good_environment(zfs):
    assert all(one.fine for one in driver(zfs).check())
    absent = BootEnvironmentSettings(known_good="14.1-RELEASE")
    dut = replace(zfs.settings().dut, boot_environments=absent)
    remedies = {one.subject: one.remedy for one in zfs.driver(dut=dut).check() if not one.fine}
    assert set(remedies) == {"boot environment"}


def test_what_makes_no_sense_is_refused():
    with pytest.raises(UsageError, match="the same environment"):
        BootEnvironmentSettings(known_good="bench")
    with pytest.raises(UsageError, match=r"under_test: 'a b' cannot be one"):
        BootEnvironmentSettings(under_test="a b")
    slices = SliceSettings(known_good="/dev/a", under_test="/dev/b")
    with pytest.raises(UsageError, match="slices or boot_environments"):
        DutSettings(slices=slices, boot_environments=BootEnvironmentSettings())
