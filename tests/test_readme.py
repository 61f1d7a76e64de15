"""What the README promises that can be seen without a farm."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from buildbot_bench.plugin.farm.series import all_series
from buildbot_bench.workflow import load
from tests.readme import CHECKOUT, TEXT, blocks, commands

MAKES = [
    pytest.param(
        make, marks=pytest.mark.skipif(not shutil.which(make), reason=f"there is no {make}")
    )
    for make in ("make", "bmake")
]


def test_its_workflow_is_one(tmp_path: Path) -> None:
    example, *_ = blocks("yaml")
    path = tmp_path / "bench.yml"
    path.write_text(example)
    workflow = load(path)
    assert workflow.bench_jobs[0].workloads == ("forwarding", "ipfw-statefull", "pf-statefull")


def test_its_matrix_leaves_out_and_adds(tmp_path: Path) -> None:
    example, matrix, *_ = blocks("yaml")
    path = tmp_path / "bench.yml"
    text = re.sub(r"    runs-on: apu2\n(?:    .*\n)+", matrix, example, count=1)
    path.write_text(re.sub(r"testbeds:\n.*\n", "", text))
    found = {(x.testbed, x.workload, x.iterations) for x in all_series(load(path).bench_jobs)}
    assert found == {
        ("apu2", "forwarding", 5),
        ("xeon", "forwarding", 9),
        ("xeon", "pf-statefull", 9),
        ("arm64", "forwarding", 5),
    }


def test_its_schedules_are_some(tmp_path: Path) -> None:
    example, _, nightly, *_ = blocks("yaml")
    path = tmp_path / "bench.yml"
    path.write_text(re.sub(r"on:\n(?:  .*\n)+", nightly, example, count=1))
    workflow = load(path)
    assert [(one.cron, one.branch) for one in workflow.on.schedule] == [
        ("0 3 * * *", None),
        ("0 4 * * SUN", "stable/14"),
    ]
    assert workflow.concurrency.cancel_in_progress


def test_its_gate_is_one(tmp_path: Path) -> None:
    example, _, _, gate, _ = blocks("yaml")
    kernel = example.partition("jobs:\n")[2].partition("  bench:\n")[0]
    path = tmp_path / "bench.yml"
    path.write_text(f"name: Gate\nrepository: src\n{gate}{kernel}")
    gates = {(x.testbed, x.workload): x.gates for x in all_series(load(path).bench_jobs)}
    assert gates == {
        ("vm-exact", "forwarding"): (),
        ("apu2", "forwarding"): ("vm-exact",),
        ("apu2", "pf-statefull"): (),
    }


def test_its_branches_are_patterns(tmp_path: Path) -> None:
    example, *_, branches = blocks("yaml")
    path = tmp_path / "bench.yml"
    path.write_text(re.sub(r"on:\n(?:  .*\n)+", branches, example, count=1))
    push = load(path).on.push
    assert push is not None
    there = ("stable/9", "stable/14", "releng/14.1", "releng/13.2", "main")
    assert push.watched(there) == ("main", "stable/14", "releng/14.1")


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    "target", [command.split()[1] for command in commands() if command.startswith("make ")]
)
def test_each_target_is_known_to_both_kinds_of_make(make: str, target: str) -> None:
    done = subprocess.run(
        [make, "-n", target], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_file_that_it_names_is_there() -> None:
    named = re.findall(r"`((?:buildbot_bench|workers|templates|tests)/[\w./-]*|[\w-]+\.txt)`", TEXT)
    assert named
    assert [name for name in named if not (CHECKOUT / name).exists()] == []
