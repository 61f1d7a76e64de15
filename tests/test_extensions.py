"""A lab grows by what other packages register: a driver and workloads, a file and a line each."""

import configparser
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from buildbot_bench import installed
from buildbot_bench.core.errors import UsageError
from tests.fakes.kernels import sound_kernel
from tests.fakes.other_package import install
from tests.readme import block_with, blocks, on
from tests.running import ran

PAGE = "docs/how-to/extend.md"
(DRIVER,) = blocks("python", PAGE, name="driver")
(WORKLOADS,) = blocks("python", PAGE, name="workloads")
ENTRY_POINTS = """\
[buildbot_bench.drivers]
dice = extra.driver:DiceDriver
[buildbot_bench.embedded_workloads]
few-flows = extra.workloads:FEW
[buildbot_bench.virtual_workloads]
same-again = extra.workloads:SAME
"""
TESTBEDS = """\
[testbeds.dice]
driver = "dice"
sides = 20
[testbeds.processes]
driver = "embedded"
duration_s = 0.1
[testbeds.vm]
driver = "qemu"
"""


@pytest.fixture
def other_package(tmp_path):
    """Where a package lies as pip installs it, which is not this one."""
    modules = {"driver": DRIVER, "workloads": WORKLOADS}
    return install(tmp_path / "site", modules, ENTRY_POINTS)


def bench_lab(place: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (home / "testbeds.toml").write_text(TESTBEDS)
    return ran(
        [sys.executable, "-m", "buildbot_bench.lab.cli", *words],
        env={**os.environ, "PYTHONPATH": str(place), "BENCH_LAB_TESTBEDS": "testbeds.toml"},
        cwd=home,
        timeout=120,
    )


def measured(done: subprocess.CompletedProcess[str]) -> dict[str, float]:
    assert done.returncode == 0, done.stdout + done.stderr
    (event,) = [line for line in done.stdout.splitlines() if '"measured"' in line]
    values: dict[str, float] = json.loads(event)["values"]
    return values


def run(place: Path, home: Path, testbed: str, workload: str) -> dict[str, float]:
    kernel = sound_kernel(home)
    words = [f"--testbed={testbed}", f"--workload={workload}", f"--artefact={kernel}"]
    words += [f"--state={home / 'state'}", "--iterations=1", "--json"]
    return measured(bench_lab(place, home, "run", *words))


def test_a_driver_of_another_package_measures_by_its_own_settings(other_package, tmp_path):
    assert run(other_package, tmp_path, "dice", "forwarding") == {"pps": 20.0}


def test_the_commands_of_the_page_list_check_and_run_it(other_package, tmp_path):
    shutil.copyfile(sound_kernel(tmp_path), tmp_path / "kernel.txz")
    lists, checks, runs = (
        bench_lab(other_package, tmp_path, *command.split()[1:])
        for command in block_with("bench-lab check dice")
    )
    assert "dice" in lists.stdout
    assert checks.returncode == 0, checks.stderr
    assert runs.stdout.count("20") >= 5, runs.stdout + runs.stderr


def test_the_entry_points_of_the_page_are_those_that_are_tried():
    shown = [tomllib.loads(one.text)["project"] for one in on(PAGE) if one.language == "toml"]
    tried = configparser.ConfigParser()
    tried.read_string(ENTRY_POINTS)
    for points in (one["entry-points"] for one in shown):
        for group, names in points.items():
            if group in tried:
                assert dict(tried[group]) == names
    assert {group for one in shown for group in one["entry-points"]} > set(tried.sections())


def test_a_workload_of_another_package_is_blasted(other_package, tmp_path):
    values = run(other_package, tmp_path, "processes", "few-flows")
    assert values["packets/CPU-s"] > 0
    (log,) = (tmp_path / "state").glob("testbeds/processes/logs/pktblast.out")
    assert "16 flows" in log.read_text(errors="replace")


def test_what_another_package_adds_is_listed(other_package, tmp_path):
    listed = bench_lab(other_package, tmp_path, "list").stdout
    assert "few-flows, forwarding" in listed
    assert "forwarding, same-again" in listed
    alone = bench_lab(tmp_path, tmp_path, "list")
    assert "'dice' is no driver" in alone.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("dice = extra.nothing:DiceDriver", "cannot load 'dice' of buildbot_bench.drivers"),
        ("embedded = extra.driver:DiceDriver", "'embedded' of buildbot_bench.drivers is both"),
    ],
)
def test_what_cannot_be_taken_is_named(other_package, tmp_path, line, told):
    points = other_package / "extra-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[buildbot_bench.drivers]\n{line}\n")
    done = bench_lab(other_package, tmp_path, "list")
    assert done.returncode == 2
    assert told in done.stderr


def test_a_package_that_is_not_installed_registers_nothing():
    with pytest.raises(UsageError, match="no installed package registers bench_none") as refusal:
        installed.registered("bench_none")
    assert "pip install" in refusal.value.hint
