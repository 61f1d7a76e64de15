"""`bench-farm check`: what it says of a workflow, how soon, and that `run` says the same."""

import json
import sys
from pathlib import Path

import pytest

from buildbot_bench.demo.command import main
from tests.running import ran
from tests.workflow.example import SMALLEST

# What takes long to import.
HEAVY = ("buildbot", "twisted", "sqlalchemy", "scipy", "numpy")


@pytest.fixture
def workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("bench.yml")
    path.write_text(SMALLEST)
    return path


def test_a_file_without_mistakes_is_one_line(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check"]) == 0
    assert capsys.readouterr().out == (
        "bench.yml: watches main of src; kernel builds on builder; "
        "measures forwarding on embedded\n"
    )


def test_what_starts_measurements_is_said(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow.write_text(SMALLEST + "on: {schedule: [{cron: '0 3 * * *'}]}\n")
    assert main(["check"]) == 0
    assert "measures main at 0 3 * * * UTC; kernel builds" in capsys.readouterr().out
    workflow.write_text(SMALLEST + "on: workflow_dispatch\n")
    assert main(["check"]) == 0
    assert "watches nothing of src: people ask" in capsys.readouterr().out


def test_all_mistakes_go_to_stderr_and_the_status_is_2(
    workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow.write_text(SMALLEST.replace("matrix", "matrx").replace("name:", "namex:"))
    assert main(["check", "bench.yml"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "bench.yml:1:1: namex: unknown key; did you mean 'name'?",
        "bench.yml:14:16: jobs.bench.strategy.matrx: unknown key; did you mean 'matrix'?",
    ]
    assert main(["run", "--workflow", "bench.yml"]) == 2
    assert capsys.readouterr().err == told.err
    assert [*Path().iterdir()] == [workflow]


def test_a_file_that_is_not_there(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workflow.unlink()
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "bench.yml: cannot be read: No such file or directory\n"


def test_mistakes_as_json(workflow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workflow.write_text(SMALLEST.replace("matrix", "matrx"))
    assert main(["check", "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        "summary": "",
        "mistakes": [
            {
                "file": "bench.yml",
                "line": 14,
                "column": 16,
                "message": "jobs.bench.strategy.matrx: unknown key; did you mean 'matrix'?",
            }
        ],
    }


def test_it_imports_nothing_that_runs_a_farm(workflow: Path) -> None:
    script = (
        "import sys; from buildbot_bench.demo.command import main; main(['check']); "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = ran([sys.executable, "-c", script], check=True, cwd=Path())
    assert done.stdout.splitlines()[-1] == "[]"
