"""A reboot is told from what was seen: never by a fixed time, and never from an old boot."""

import pytest

from buildbot_bench.lab.hardware.boot_watch import (
    Alive,
    BootWatch,
    Progress,
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
        Progress.LEAVING,
        Progress.LOADER,
        Progress.ARRIVED,
        Progress.ARRIVED,
    ]


def test_the_same_kernel_on_the_old_boot_is_no_reboot():
    before = Alive(boot_s=1000, bootfile=NEW)
    assert seen(before, before=before) == [Progress.LEAVING]
    assert seen(Alive(boot_s=1060, bootfile=NEW), before=before) == [Progress.ARRIVED]


def test_a_clock_that_is_set_by_a_second_is_no_reboot():
    assert seen(Alive(boot_s=1001, bootfile=OLD.bootfile)) == [Progress.LEAVING]


def test_another_kernel_on_a_new_boot_is_a_fallback():
    assert seen(None, Alive(boot_s=1100, bootfile=OLD.bootfile))[-1] is Progress.FELL_BACK


def test_boots_without_end_are_a_loop():
    boots = [Alive(boot_s=1000 + 60 * n, bootfile=NEW) for n in range(1, 4)]
    assert seen(*boots)[-1] is Progress.LOOPS


def test_a_machine_of_which_nothing_was_known_arrives_as_well():
    assert seen(None, Alive(boot_s=5, bootfile=NEW), before=None)[-1] is Progress.ARRIVED


def test_kern_boottime_is_read_as_freebsd_prints_it():
    text = "{ sec = 1700000000, usec = 123456 } Tue Nov 14 22:13:20 2023"
    assert parse_alive(text, "/boot/kernel/kernel\n") == Alive(
        boot_s=1_700_000_000, bootfile="/boot/kernel/kernel"
    )
    assert parse_alive("sysctl: unknown oid", "") is None


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
