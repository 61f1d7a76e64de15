"""The model case by way of bench-bisect: what a person asks for and gets, on a farm that runs."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.checks import steps_of
from tests.e2e.replay_farm import ReplayFarm, Shape
from tests.ports import free_port
from tests.readme import block_with, of, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

SEARCHES = "SELECT count(*) FROM bench_search"
MARKS = [command for command in of("bench-bisect") if "--mark" in command.split()]
# Those of virtual machines are asked by tests/vm, those without a farm by test_local_bisect.py.
ELSEWHERE = {"--local", "--mark", "--print-completion", "--testbed"}
ASKS = [command for command in of("bench-bisect") if not ELSEWHERE & {*command.split()}]
# Those that were published are asked for by tests/e2e/test_published.py.
COMPARES = [
    command
    for command in of("bench-compare")
    if "--local" not in command and command not in block_with("r299288+D8526 -n")
]


@pytest.fixture(scope="module")
def farm(farms) -> ReplayFarm:
    return farms(Shape())


def assert_one_line(done: subprocess.CompletedProcess[str], status: int, *words: str) -> None:
    """A command that failed says so in one line, and nothing on stdout."""
    assert (done.returncode, done.stdout) == (status, ""), done
    (line,) = done.stderr.splitlines()
    assert line.startswith("bench-bisect: ")
    for word in words:
        assert word in line


def test_four_steps_of_the_range_are_found_with_their_signs(farm: ReplayFarm) -> None:
    done = farm.bisect("r311848", "r313448", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert steps_of(report) == [
        ("r311848", "r311849", -1),
        ("r312903", "r312904", 1),
        ("r312904", "r312905", 1),
        ("r313447", "r313448", -1),
    ]
    assert report["kind"] == "culprit"
    assert report["headline"]["new"]["label"] == "r311849"
    assert report["headline"]["effect"] == pytest.approx(-0.256, abs=0.01)
    assert "forecast" in done.stderr
    assert "  probe 1  r311848" in done.stderr


def test_answer_has_the_ministat_block_of_each_step(farm: ReplayFarm) -> None:
    number = str(farm.value("SELECT id FROM bench_search WHERE state = 'found'"))
    done = farm.bisect("--follow", number)
    assert done.returncode == 0, done.stderr
    assert "x r311848\n+ r311849\n" in done.stdout
    for label in ("r312904", "r312905", "r313448"):
        assert label in done.stdout


@pytest.mark.parametrize("command", [*COMPARES, *ASKS])
def test_the_commands_of_the_readme_answer(farm: ReplayFarm, command: str) -> None:
    done = run(
        command,
        BENCH_FARM=farm.url,
        BENCH_USER="bench",
        BENCH_PASSWORD_FILE=str(farm.local.plan.password_file),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", MARKS)
def test_the_readme_s_marks_are_taken_and_shown(farm: ReplayFarm, command: str) -> None:
    done = run(
        command,
        BENCH_FARM=farm.url,
        BENCH_USER="bench",
        BENCH_PASSWORD_FILE=str(farm.local.plan.password_file),
    )
    assert done.returncode == 0, done.stderr
    assert "search 1 is marked" in done.stdout
    assert farm.get("searches/1")["searches"][0]["marks"][-1]["author"]
    assert farm.get("record")["views"][0]["right"] == 1


def test_dry_run_tells_the_costs_and_starts_nothing(farm: ReplayFarm) -> None:
    before = farm.value(SEARCHES)
    done = farm.bisect("r311900", "r312800", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "900 commits" in done.stdout
    assert "images" in done.stdout
    assert farm.value(SEARCHES) == before


def test_search_that_nobody_waits_for_can_be_followed_later(farm: ReplayFarm) -> None:
    number = farm.begin_search("r313440", "r313448")
    done = farm.bisect("--follow", str(number), "--json")
    assert done.returncode == 0, done.stderr
    assert steps_of(json.loads(done.stdout)) == [("r313447", "r313448", -1)]


def test_ends_that_do_not_differ_are_told_by_the_status(farm: ReplayFarm) -> None:
    done = farm.bisect("r312000", "r312500", "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["steps"] == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("nonsense", "r1", "nonsense"),
        ("r311848", "r1", "r1"),
        ("r313448", "r311848", "newer"),
        ("r311849", "r311849", "same revision"),
    ],
)
def test_impossible_range_is_refused_in_one_line(
    farm: ReplayFarm, old: str, new: str, named: str
) -> None:
    before = farm.value(SEARCHES)
    assert_one_line(farm.bisect(old, new), 2, named)
    assert farm.value(SEARCHES) == before


def test_wrong_password_is_refused_in_one_line(farm: ReplayFarm, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("a guess\n")
    done = farm.bisect("r311848", "r313448", "--password-file", str(tmp_path / "password"))
    assert_one_line(done, 2, "'bench'", "401")


def test_stopped_farm_is_told_in_one_line(farm: ReplayFarm) -> None:
    nobody = f"http://localhost:{free_port()}/"
    assert_one_line(farm.bisect("r311848", "r313448", BENCH_FARM=nobody), 4, "no farm answers")
