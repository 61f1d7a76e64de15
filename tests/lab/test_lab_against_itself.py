"""`bench-lab check --aa`: a kernel as two variants, and what the testbed can tell at what cost."""

import re
from pathlib import Path

import pytest

from buildbot_bench.lab.cli import main

SERIES = Path(__file__).parents[2] / "buildbot_bench" / "demo" / "data" / "series.jsonl"
TESTBEDS = f"""\
[testbeds.replay]
driver = "replay"
series = "{SERIES}"
dut = "AMD_GX-412TC_4Cores"
label = "fbsd12-head.iflib"
[testbeds.several]
driver = "command"
workloads = {{one = {{run = "true"}}, other = {{run = "true"}}}}
[testbeds.runner]
driver = "command"
[testbeds.runner.workloads.count]
run = "cat value"
value = "last-number"
unit = "MB/s"
"""


@pytest.fixture
def check(tmp_path, monkeypatch, capfd):
    """Types `bench-lab check`; returns status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("testbeds.toml").write_text(TESTBEDS)
    for number in (1, 2):
        Path(f"kernel{number}").write_text(f"r311848\nimage {number}\n")
    Path("broken").write_text("no revision\n")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["check", *arguments])
        return status, *capfd.readouterr()

    return run


def test_one_kernel_is_booted_as_two_variants(check):
    status, told, progress = check("replay", "--aa", "kernel1")
    assert status == 0
    assert "forwarding on replay, kernel1, against itself" in told
    assert re.search(r"from boot to boot +0\.\d % \(sd\), by 10 boots", told)
    assert "from image to image  not known: name a further build" in told
    assert "not visible from here" in told
    assert "10 of 10 of kernel1: " in progress


def test_builds_of_one_revision_are_booted_in_turns_and_their_luck_is_told(check):
    status, told, progress = check("replay", "--aa", "kernel1", "kernel2", "-n", "3")
    assert status == 0
    assert re.search(r"from image to image  \d\.\d+ % \(sd\); seen: ", told)
    assert re.search(r"\n +2 %  \d+ boots in \d+ images, .* for both sides\n", told)
    order = re.findall(r"of (kernel\d):", progress)
    assert order == ["kernel1", "kernel2", "kernel2", "kernel1", "kernel1", "kernel2"]


def test_a_command_is_run_and_this_machine_says_what_disturbs_it(check, tmp_path):
    artefact = tmp_path / "value.sh"
    artefact.write_text("#!/bin/sh\necho 5\n")
    artefact.chmod(0o755)
    Path("testbeds.toml").write_text(TESTBEDS.replace("cat value", "./artefact"))
    status, told, _ = check("runner", "--aa", str(artefact), "-n", "2")
    assert status == 0
    assert "from run to run      a counted value, which repeats, by 4 runs" in told
    assert "usual causes of noise" in told or "what makes runs vary here" in told


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("replay", "--aa", "kernel1", "kernel1"), 2, "two of the files are the same kernel"),
        (("several", "--aa", "kernel1"), 2, "name one by --workload: "),
        (("replay", "--aa", "kernel1", "-n", "0"), 2, "--iterations 0 is not in 1..1000"),
        (("replay", "--aa", "kernel1", "--workload", "x"), 2, "has no workload 'x'"),
        (("replay", "--aa", "missing"), 4, "cannot read the artefact"),
        (("replay", "--aa", "broken"), 3, "names no revision"),
    ],
)
def test_what_cannot_be_measured_is_said(check, arguments, status, said):
    ended, _, complaint = check(*arguments)
    assert (ended, said in complaint) == (status, True), complaint


def test_without_aa_nothing_is_booted(check):
    status, told, progress = check("replay")
    assert (status, progress) == (0, "")
    assert "against itself" not in told
