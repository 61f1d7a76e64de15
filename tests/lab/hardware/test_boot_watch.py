"""A reboot is told from what was seen: never by a fixed time, and never from an old boot."""

import pytest

from buildbot_bench.lab.hardware.boot_watch import (
    Alive,
    BootProgress,
    BootWatch,
    boots_in,
    in_debugger,
    panic_in,
    parse_alive,
)

OLD = Alive(boot_s=1000, bootfile="/boot/kernel/kernel")
NEW = "/boot/bench.0123/kernel"


def seen(*boots, before=OLD):
    watch = BootWatch(before, NEW)
    return [watch.saw(boot) for boot in boots]


def test_a_boot_goes_from_the_old_one_through_the_loader_to_the_kernel():
    arrived = Alive(boot_s=1100, bootfile=NEW)
    assert seen(OLD, None, arrived, arrived) == [
        BootProgress.LEAVING,
        BootProgress.LOADER,
        BootProgress.ARRIVED,
        BootProgress.ARRIVED,
    ]


def test_the_same_kernel_on_the_old_boot_is_no_reboot():
    before = Alive(boot_s=1000, bootfile=NEW)
    assert seen(before, before=before) == [BootProgress.LEAVING]
    assert seen(Alive(boot_s=1060, bootfile=NEW), before=before) == [BootProgress.ARRIVED]


def test_a_clock_that_is_set_by_a_second_is_no_reboot():
    assert seen(Alive(boot_s=1001, bootfile=OLD.bootfile)) == [BootProgress.LEAVING]


def test_another_kernel_on_a_new_boot_is_a_fallback():
    assert seen(None, Alive(boot_s=1100, bootfile=OLD.bootfile))[-1] is BootProgress.FELL_BACK


def test_boots_without_end_are_a_loop():
    boots = [Alive(boot_s=1000 + 60 * n, bootfile=NEW) for n in range(1, 4)]
    assert seen(*boots)[-1] is BootProgress.LOOPS


def test_a_machine_of_which_nothing_was_known_arrives_as_well():
    assert seen(None, Alive(boot_s=5, bootfile=NEW), before=None)[-1] is BootProgress.ARRIVED


def test_kern_boottime_is_read_as_freebsd_prints_it():
    seen = look(1_700_000_000, 1_700_000_060, 100, boot_id=ONE)
    assert (seen.boot_s, seen.bootfile) == (1_700_000_000, "/boot/kernel/kernel")
    assert (seen.boot_id, seen.began_s) == (ONE, pytest.approx(40.4, abs=1.0))
    assert seen.up_s == pytest.approx(60, abs=1.0)
    assert OLD.up_s is None  # no clock says
    assert parse_alive("id \nnow 5\nboottime sysctl: unknown oid\nruns \n", 0, 0) is None
    assert parse_alive("", 0, 0) is None


def told(boottime_s, now_s, runs="/boot/kernel/kernel", boot_id=""):
    """What a machine answers to a look, as sysctl(8) prints it (sbin/sysctl/sysctl.c)."""
    dump = f"Format: Length:16 Dump:0x{boot_id}" if boot_id else ""
    boottime = f"{{ sec = {boottime_s}, usec = 500000 }} Tue Nov 14 22:13:20 2023"
    return f"id {dump}\nnow {now_s}\nboottime {boottime}\nruns {runs}\n"


def look(boottime_s, now_s, at_s, *, lasted_s=0.2, **more):
    """A look that began `at_s` seconds after the lab controller's own start."""
    return parse_alive(told(boottime_s, now_s, **more), at_s, at_s + lasted_s)


ONE, OTHER = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"


def test_a_boot_id_tells_boots_apart_whatever_the_clock_says():
    before = look(1000, 1600, 100, boot_id=ONE)
    assert before.same_boot(look(5000, 5660, 160, boot_id=ONE))
    assert not before.same_boot(look(1000, 1660, 160, boot_id=OTHER))


@pytest.mark.parametrize("step_s", [-3600, -2, 2, 30, 1_700_000_000])
def test_without_one_a_clock_that_is_stepped_is_no_reboot(step_s):
    """A step moves kern.boottime and the time of day alike; how long it is up stays."""
    before = look(1000, 1600, 100)
    assert before.same_boot(look(1000 + step_s, 1660 + step_s, 160))


@pytest.mark.parametrize("up_s", [0, 10, 55])
def test_without_one_a_reboot_is_seen_though_the_clock_went_back_to_the_same_boottime(up_s):
    """A board without a clock of its own begins anew with each boot."""
    assert not look(1000, 1600, 100).same_boot(look(1000, 1000 + up_s, 160))


def test_the_time_that_a_look_takes_is_allowed_for():
    before = look(1000, 1600, 100)
    assert before.same_boot(look(1000, 1660, 150, lasted_s=14))
    assert before.same_boot(look(1000, 1660, 159.2))
    assert not before.same_boot(look(1030, 1660, 150, lasted_s=14))


def test_clocks_that_run_at_slightly_different_rates_are_no_reboot():
    assert look(1000, 1600, 100).same_boot(look(1000, 8802, 7300))


def test_a_boot_id_that_comes_late_is_of_the_same_boot():
    """Until the random device is seeded there is none (sys/kern/kern_mib.c)."""
    assert look(1000, 1010, 100).same_boot(look(1000, 1030, 120, boot_id=ONE))
    assert not look(1000, 1600, 100).same_boot(look(1640, 1660, 160, boot_id=ONE))


@pytest.mark.parametrize(
    ("console", "panic"),
    [
        ("panic: page fault\ncpuid = 1\n", "panic: page fault"),
        ("\nFatal trap 12: page fault while in kernel mode\n", "Fatal trap 12: page fault while"),
        ("login: \n", ""),
    ],
)
def test_a_panic_is_read_off_the_console(console, panic):
    assert panic_in(console).startswith(panic)
    assert bool(panic_in(console)) == bool(panic)


def test_the_debugger_and_each_boot_are_read_off_the_console():
    assert in_debugger("panic: x\nKDB: enter: panic\n[ thread pid 0 tid 1 ]\ndb> ")
    assert not in_debugger("kdb is not here\n")
    assert boots_in("Copyright (c) 1992-2016 The FreeBSD Project.\n" * 3) == 3
