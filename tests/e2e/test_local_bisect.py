"""bench-bisect --local and bench-compare --local in repositories as people have them."""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.gitrepo import Commit, git, make_repository
from tests.readme import FOLLOWED, of, on
from tests.running import ran
from tests.terminal import in_a_terminal

pytestmark = pytest.mark.e2e

LOCAL = Path(__file__).parents[2] / "docs/how-to/compare-local.md"
COMMITS, SLOWER_FROM, KILLS = 24, 15, 4
# The tutorial's are typed by test_tutorial.py.
TUTORIAL = {command for block in on(FOLLOWED) for command in block.commands}
READ = [
    one
    for one in (*of("bench-bisect"), *of("bench-compare"))
    if "--local" in one and one not in TUTORIAL
]
# It writes down which revision was run to its end, outside of the repository.
SCRIPT = """\
#!/bin/sh
sleep "${{PAUSE:-0.15}}"
echo {number} >> "$RUNS"
echo "count: $(({level} + $$ % 3))"
"""
WORKFLOW = """\
name: Library
repository: .
on: {push: {branches: [main]}}
testbeds:
  runner: {worker: lab, boot: 1s, run: 1s}
jobs:
  library:
    runs-on: builder
    steps:
      - uses: checkout
      - run: make lib
      - uses: upload-artefact
        with: {path: bench}
  bench:
    needs: library
    runs-on: runner
    strategy: {matrix: {workload: [compress]}}
"""
TESTBEDS = """\
[testbeds.runner]
driver = "command"
[testbeds.runner.workloads.compress]
run = "./artefact"
value = "last-number"
unit = "MB/s"
"""
RUN = ["--run", "sh ./count.sh", "--value", "last-number", "--lower-is-better"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout whose command counts 6 % more from the fifteenth commit on."""
    commits = [
        Commit(
            files={"count.sh": SCRIPT.format(number=n, level=1000 if n < SLOWER_FROM else 1060)},
            subject=f"Change {n}",
        )
        for n in range(1, COMMITS + 1)
    ]
    make_repository(tmp_path / "origin.git", commits)
    git(tmp_path, "clone", "-q", "origin.git", "project")
    return tmp_path / "project"


def start(
    project: Path, *arguments: str, program: str = "bench-bisect", **environ: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(Path(sys.executable).with_name(program)), "--local", *arguments],
        cwd=project,
        env={**os.environ, "RUNS": str(project.parent / "runs"), "COLUMNS": "80", **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def runs(project: Path) -> list[str]:
    path = project.parent / "runs"
    return path.read_text().split() if path.exists() else []


def stored(project: Path) -> int:
    with sqlite3.connect(project / ".git" / "bench" / "evidence.sqlite") as db:
        return db.execute("SELECT count(*) FROM iterations WHERE value IS NOT NULL").fetchone()[0]


def at_work_in(place: Path) -> list[str]:
    """The processes whose current directory lies in a directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if entry.readlink().is_relative_to(place):
                found.append(entry.parent.name)
        except OSError:
            continue
    return found


def test_a_killed_search_goes_on_and_runs_nothing_twice(project: Path) -> None:
    chance = random.Random(16)
    question = ("HEAD~23", "HEAD", "--build", "true", *RUN, "--json")
    killed = 0
    while True:
        # A run takes longer than this may wait before it kills: no end comes before the kills.
        process = start(project, *question, PAUSE="0.7")
        if killed < KILLS:
            began = len(runs(project))
            while process.poll() is None and len(runs(project)) == began:
                time.sleep(0.02)
            time.sleep(chance.uniform(0.0, 0.6))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                killed += 1
                continue
        answer, told = process.communicate(timeout=120)
        break
    assert process.returncode == 0, told
    report = json.loads(answer)
    assert killed == KILLS
    assert report["headline"]["new"]["subject"] == f"Change {SLOWER_FROM}"
    # A run that ended with the process at once is lost: one for each kill at most.
    assert 0 <= len(runs(project)) - stored(project) <= KILLS
    assert "are known already and not repeated" in told
    assert at_work_in(project) == []
    done = len(runs(project))
    again, told = start(project, *question).communicate(timeout=120)
    assert json.loads(again)["headline"] == report["headline"], told
    assert len(runs(project)) == done
    assert git(project, "worktree", "list").count("\n") == 0
    assert git(project, "status", "--short") == ""


def test_a_terminal_shows_what_is_left_to_do(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNS", str(project.parent / "runs"))
    monkeypatch.setenv("PAUSE", "0.5")  # what is over at once has no forecast
    program = str(Path(sys.executable).with_name("bench-bisect"))
    status, out, seen = in_a_terminal((program, "--local", "HEAD~23", "HEAD", *RUN), cwd=project)
    assert status == 0, seen
    assert f"subject  Change {SLOWER_FROM}" in out
    picture = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    left = [int(n) for n in re.findall(r"; about (\d+) runs and \d+ \S+ to go", picture)]
    assert len(left) > 1
    assert left == sorted(left, reverse=True)
    for part in ("forecast ", "23 commits", "●", "suspects"):
        assert part in picture


def test_variants_are_compared_and_the_report_is_a_page(project: Path) -> None:
    compare = ("HEAD~12", "HEAD", *RUN, "--markdown", "--html", str(project.parent / "c.html"))
    process = start(project, *compare, "--dry-run", program="bench-compare")
    answer, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert "10 runs and 0 builds more" in answer
    assert (runs(project), list(project.parent.glob("*.html"))) == ([], [])
    process = start(project, *compare, program="bench-compare")
    answer, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert 'src="data:image/png;base64,' in (project.parent / "c.html").read_text()
    assert "| HEAD | " in answer
    assert "worse" in answer
    change = re.search(r"\| \+(\d\.\d+) % \|", answer)
    assert change, answer
    assert 5 < float(change[1]) < 7
    page = project.parent / "report.html"
    done = len(runs(project))
    process = start(project, "HEAD~12", "HEAD~9", *RUN, "--dry-run")
    answer, told = process.communicate(timeout=120)
    assert (process.returncode, len(runs(project))) == (0, done), told
    assert "3 commits: count.sh on " in answer
    assert "The search reuses 5 known runs." in answer
    process = start(project, "HEAD~12", "HEAD~9", *RUN, "--html", str(page))
    answer, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert f"subject  Change {SLOWER_FROM}" in answer
    assert 'src="data:image/png;base64,' in page.read_text()
    assert "cid:" not in page.read_text()


def test_what_cannot_be_measured_ends_with_its_last_lines(project: Path) -> None:
    build = "echo cc: no input files; exit 1"
    process = start(project, "HEAD~3", "HEAD", "--build", build, *RUN)
    answer, told = process.communicate(timeout=60)
    assert (process.returncode, answer) == (2, "")
    assert "  | cc: no input files\n" in told
    assert "correct --build or --run" in told.splitlines()[-1]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The project of the README's commands; the summary and outputs of a CI job lie beside it."""
    commits = [
        Commit(
            files={
                "Makefile": "lib: bench.sh\n\tcp bench.sh bench && chmod +x bench\n"
                '\techo "# image $$BENCH_IMAGE" >>bench\n',
                "bench.sh": f"#!/bin/sh\necho MB/s: $(({500 if n < 7 else 470} + $$ % 2))\n",
            },
            subject=f"Change {n}",
        )
        for n in range(1, 13)
    ]
    shas = make_repository(tmp_path / "origin.git", commits)
    git(tmp_path / "origin.git", "tag", "v1.9.4", shas[0])
    git(tmp_path / "origin.git", "tag", "v1.10.0", shas[-1])
    git(tmp_path, "clone", "-q", "origin.git", "project")
    project = tmp_path / "project"
    git(project, "branch", "my-branch", "main")
    git(project, "switch", "-q", "-C", "main", "v1.9.4")
    (project / "bench.yml").write_text(WORKFLOW)
    (project / "testbeds.toml").write_text(TESTBEDS)
    git(project, "restore", "--source", "v1.10.0", "bench.sh")  # what is not committed is slower
    return project


@pytest.mark.parametrize("command", READ)
def test_the_documents_are_right(command: str, library: Path) -> None:
    place = library.parent
    files = {name: place / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    done = ran(
        ["sh", "-c", command],
        cwd=library,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            **{name: str(path) for name, path in files.items()},
        },
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if "--aa" in command:
        assert "against itself" in done.stdout
        return
    if "bisect" not in command:
        ends = [{".": "working tree"}.get(end, end) for end in command.split()[2:4]]
        assert "worse" in done.stdout
        assert f"{ends[1]} against {ends[0]}" in files["GITHUB_STEP_SUMMARY"].read_text()
        return
    assert "subject  Change 7" in done.stdout
    assert "- subject `Change 7`" in files["GITHUB_STEP_SUMMARY"].read_text()
    assert "\n::warning title=" in done.stderr
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    assert outputs["culprit"] == git(library, "rev-parse", "v1.10.0~5")
    assert outputs["kind"] == "culprit"
    assert float(outputs["effect"]) == pytest.approx(-0.06, abs=0.003)
    assert float(outputs["probability"]) >= 0.99


def test_the_hook_of_the_documents_keeps_back_what_is_slower(library: Path) -> None:
    (script,) = re.findall(r"```text\n(#!.*?)```", LOCAL.read_text(encoding="utf-8"), re.DOTALL)
    hook = library / ".git" / "hooks" / "pre-push"
    hook.write_text(script)
    hook.chmod(0o755)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    git(library.parent, "init", "--quiet", "--bare", "elsewhere.git")
    statuses = []
    for tip in ("v1.10.0~8", "v1.10.0"):
        git(library, "update-ref", "refs/heads/next", tip)
        done = ran(
            ["git", "push", "--quiet", "../elsewhere.git", "next"],
            cwd=library,
            env={**os.environ, "PATH": programs},
            timeout=240,
        )
        statuses.append(done.returncode)
    assert statuses == [0, 1], done.stderr
    assert "worse" in done.stdout + done.stderr
