"""What is measured decides what a report calls it."""

import pytest

from buildbot_bench.core.compare.schedule import left_out
from buildbot_bench.core.item import ItemUnderTest, item_of
from buildbot_bench.lab.command.machine import machine_facts
from buildbot_bench.lab.command.settings import CommandWorkload


def test_a_command_testbed_tells_that_it_is_one():
    workload = CommandWorkload(run="./bench", value="wall")
    assert item_of(machine_facts(workload)) is ItemUnderTest.COMMAND


@pytest.mark.parametrize("facts", [(), ("uname", "sender 0 command", "kernel configuration")])
def test_all_others_boot_kernels(facts):
    assert item_of(facts) is ItemUnderTest.KERNEL


def test_runs_of_another_epoch_are_left_out_as_runs():
    told = left_out([("a", "x"), ("a", "x")], "y", ItemUnderTest.COMMAND)
    assert told.startswith("2 runs left out, for the machine changed: 2 of a in epoch 'x'")
