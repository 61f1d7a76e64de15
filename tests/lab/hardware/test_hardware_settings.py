"""A testbed of machines is data: what is written is checked, and the shipped example is sound."""

from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.lab.drivers.ssh import SshDriver
from buildbot_bench.lab.hardware.check import gaps
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.power import CommandPower, IpmiPower
from buildbot_bench.lab.tables import load_testbeds, make_driver

EXAMPLE = Path(__file__).parents[3] / "workers" / "lab" / "apu2.toml"


def test_the_shipped_example_has_no_gaps(tmp_path):
    testbed = load_testbeds(EXAMPLE)["apu2"]
    assert gaps(testbed.settings) == []
    assert isinstance(testbed.settings.power, IpmiPower)
    assert isinstance(make_driver(testbed, tmp_path), SshDriver)
    assert testbed.settings.traffic_of("forwarding-inet6").family == "inet6"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[testbeds.a.dut]\nadress = 'x'", "testbeds.a.dut: unknown key 'adress'; did you mean 'a"),
        ("[testbeds.a.dut]\naddress = '-oProxyCommand=x'", "testbeds.a.dut: address: '-oProxy"),
        ("[testbeds.a.dut]\nmac = '00:0d'", "mac: '00:0d' cannot be one; it is like 0c:c4"),
        ("[[testbeds.a.senders]]\ninterface = 'igb1; reboot'", "senders.0: interface: "),
        ("[testbeds.a.senders]\naddress = 'x'", "testbeds.a.senders: {'address': 'x'} is not a l"),
        ("[testbeds.a]\ndut = 1", "testbeds.a.dut: 1 is not a table; write [testbeds.a.dut]"),
        ("[testbeds.a.traffic]\nflows = '3k'", "testbeds.a.traffic: flows: '3k' is none of 1, 2k"),
        ("[testbeds.a.workloads.pf]\nready = ['ping']", "ready.0: 'ping' is not a list"),
        ("[testbeds.a.power]\ndriver = 'ipmitool'", "did you mean 'ipmi'?"),
        ("[testbeds.a.power]\ndriver = 'ipmi'\nhost = 'x'", "testbeds.a.power.user is missing"),
        ("[testbeds.a.limits]\nreboot_s = '5m'", "reboot_s: '5m' is not a number"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, text, message):
    path = tmp_path / "testbeds.toml"
    head, _, rest = text.partition("\n")
    driver = "driver = 'ssh'\n"
    whole = f"{head}\n{driver}{rest}" if head == "[testbeds.a]" else f"[testbeds.a]\n{driver}{text}"
    path.write_text(whole)
    with pytest.raises(UsageError, match=r"testbeds\.toml: testbeds\.a") as caught:
        load_testbeds(path)
    assert message in str(caught.value)


def ipmitool(directory, answer="Chassis Power is on"):
    program = directory / "ipmitool"
    program.write_text(f'#!/bin/sh\necho "$*" >>{directory}/calls\necho {answer}\n')
    program.chmod(0o755)
    return IpmiPower(host="h", user="u", password_file=directory / "password", program=str(program))


@pytest.mark.parametrize(("state", "verb"), [("on", "cycle"), ("off", "on")])
def test_ipmi_cycles_what_is_on_and_switches_on_what_is_off(tmp_path, state, verb):
    ipmitool(tmp_path, f"Chassis Power is {state}").cycle()
    access = f"-I lanplus -H h -U u -f {tmp_path}/password chassis power"
    assert (tmp_path / "calls").read_text().splitlines() == [f"{access} status", f"{access} {verb}"]


def test_a_pdu_is_switched_off_and_on(tmp_path):
    log = str(tmp_path / "log")
    command = ("sh", "-c", 'echo "$1" >>"$0"', log)
    CommandPower(off=(*command, "off"), on=(*command, "on"), pause_s=0).cycle()
    assert (tmp_path / "log").read_text() == "off\non\n"


@pytest.mark.parametrize(
    ("power", "message"),
    [
        (CommandPower(), "give cycle_command, or off and on"),
        (CommandPower(cycle_command=("no-such-program",)), "cannot run no-such-program"),
        (CommandPower(cycle_command=("sleep", "9"), deadline_s=0.1), "no end within 0.1 s"),
    ],
)
def test_a_power_driver_that_cannot_is_a_fault_of_the_lab(power, message):
    with pytest.raises(InfraError, match=message):
        power.cycle()


def test_nothing_is_measured_on_a_testbed_that_is_half_written_down(tmp_path):
    with pytest.raises(UsageError, match=r"dut\.address: missing; give the name by which ssh"):
        SshDriver(SshSettings(), tmp_path).prepare("forwarding")
