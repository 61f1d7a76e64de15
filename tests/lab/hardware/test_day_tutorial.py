"""The tutorial of a day: its testbeds.toml is made as it says, its commands check and measure."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import CHECKOUT, block_with
from tests.running import ran

LAB = CHECKOUT / "workers" / "lab"
CHECK, RUN = block_with("bench-lab check apu2 --testbeds testbeds.toml")
FIVE = 5


def lab_of_the_reader(bench) -> str:
    """The example, with the names, addresses and MACs of the machines that stand in for a lab."""
    text = (LAB / "apu2.toml").read_text()
    changes = {
        r'"apu2\.lab\.example\.org"': f'"dut"\nroot = "{bench.dut.directory}"',
        r'"sm1\.lab\.example\.org"': '"generator"',
        r'driver = "ssh"': f'driver = "ssh"\nssh_config = "{bench.network.ssh_config}"',
        r'\["igb1", "igb2"\] ': '["igb0", "igb1"] ',
        r"\nduration_s = 30": "\nduration_s = 0.5",
        r'driver = "ipmi"(\n.*){3}': f'driver = "command"\n'
        f'cycle_command = ["touch", "{bench.dut.power_file}"]\nstatus = ["echo", "on"]',
        r'"/var/log/conserver/apu2\.log"': f'"{bench.dut.console}"',
        r"(?s)\[testbeds\.apu2\.profile\].*?\n\n": "",
    }
    for pattern, new in changes.items():
        text, found = re.subn(pattern, new, text)
        assert found, pattern
    return text


@pytest.fixture
def typed(bench, tmp_path):
    """Types a command of the page where the reader's testbeds.toml is."""
    place = tmp_path / "lab-of-mine"
    shutil.copytree(LAB / "workloads", place / "workloads")
    (place / "testbeds.toml").write_text(lab_of_the_reader(bench))
    shutil.copyfile(bench.kernel(), place / "kernel.txz")

    def type_(command: str) -> subprocess.CompletedProcess[str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return ran(
            ["sh", "-c", command],
            cwd=place,
            env=os.environ | {"PATH": path, "BENCH_LAB_STATE": str(tmp_path / "state")},
        )

    return type_


def test_the_check_says_ok_of_each_thing_and_five_boots_agree(typed):
    checked = typed(CHECK)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert {line.split()[0] for line in checked.stdout.splitlines()} == {"ok"}
    measured = typed(RUN)
    assert measured.returncode == 0, measured.stdout + measured.stderr
    values = [float(one) for one in re.findall(r'"pps":\s*([\d.]+)', measured.stdout)]
    assert len(values) == FIVE
    assert max(values) / min(values) < 1.01


def test_the_check_names_what_a_reader_forgot(typed, bench):
    bench.generator.link("igb2", "0c:c4:7a:ab:29:36", "no carrier")
    checked = typed(CHECK)
    assert checked.returncode != 0
    lacking = [line for line in checked.stdout.splitlines() if not line.startswith("ok")]
    assert "receiver: igb2" in lacking[0]
