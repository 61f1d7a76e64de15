"""`bench-lab box fit`: a box is offered more packets than its DUT forwards."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.box.cli import fit_rate
from buildbot_bench.lab.tables import load_testbeds
from tests.fakes.lab_host.bench import MachineLab


def box_of(bench: MachineLab, kernel: Path) -> Path:
    """A directory as `bench-lab box init` makes one, whose machines are the stand-ins."""
    home = bench.root / "box"
    home.mkdir()
    shutil.copyfile(kernel, home / "known-good.txz")
    settings = bench.settings()
    end = settings.senders[0]
    (home / "testbeds.toml").write_text(f"""
[testbeds.box]
driver = "ssh"
ssh_config = {json.dumps(str(settings.ssh_config))}
[testbeds.box.dut]
address = "dut"
mac = "{settings.dut.mac}"
interfaces = ["igb0", "igb1"]
root = {json.dumps(settings.dut.root)}
[testbeds.box.receiver]
address = "generator"
interface = "igb2"
[[testbeds.box.senders]]
address = "generator"
interface = "igb1"
mac = "{end.mac}"
[testbeds.box.traffic]
offered_pps = 2000
paced = true
duration_s = 0.5
[testbeds.box.limits]
reboot_s = 20
ready_s = 10
poll_s = 0.05
[testbeds.box.workloads.forwarding]
ready = [["ping", "-c", "2", "198.19.0.203"]]
""")
    return home


@pytest.mark.parametrize(("forwards", "offered", "tried"), [(610, 1300, 1), (4100, 6000, 2)])
def test_the_rate_is_raised_until_packets_are_lost(bench, forwards, offered, tried):
    home = box_of(bench, bench.kernel(pps=forwards))
    said: list[str] = []
    assert fit_rate(home, said.append) == offered
    assert said[0] == "offers 2000 pps …"
    assert len(said) == 2 * tried
    settings = load_testbeds(home / "testbeds.toml")["box"].settings
    assert settings.traffic.offered_pps == offered
    command = settings.transmit(settings.traffic, 0)
    assert command[-2:] == ["-R", str(offered)]
    assert command.count("-R") == 1


def test_a_dut_that_is_faster_than_its_sender_is_offered_what_that_can_send(bench):
    home = box_of(bench, bench.kernel(pps=30_000))
    bench.network.script("sends-at-most", 7000)
    said: list[str] = []
    assert fit_rate(home, said.append) == 6000
    assert "the offered load was 7000 pps" in said[-2]
    assert "time left at 6000 pps" in said[-1]


def test_a_box_that_fails_keeps_its_rate(bench):
    home = box_of(bench, bench.kernel("PANIC"))
    before = tomllib.loads((home / "testbeds.toml").read_text())
    with pytest.raises(InfraError, match="at 2000 pps"):
        fit_rate(home, lambda _: None)
    assert tomllib.loads((home / "testbeds.toml").read_text()) == before
