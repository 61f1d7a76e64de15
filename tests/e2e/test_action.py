"""action.yml does in a job what it says: its steps are run as a runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from buildbot_bench.cli.ci import DOTENV
from tests.gitrepo import Commit, git, make_repository

pytestmark = pytest.mark.e2e

ACTION = Path(__file__).parents[2] / "action.yml"
COMMITS, SLOWER_FROM = 8, 5
EXPRESSION = re.compile(r"\$\{\{ (\w+)\.([\w.-]+) \}\}")
# The subject of the culprit is read by the runner as all that a step prints.
SUBJECT = "Change what is counted so that this line is long enough to be ::add-mask::wrapped"


@pytest.fixture(scope="module")
def action() -> Mapping[str, Any]:
    return YAML(typ="safe", pure=True).load(ACTION.read_text(encoding="utf-8"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout that counts 6 % more from the fifth commit on, as a job has it."""
    commits = [
        Commit(
            files={"count.sh": f"echo count: $(({1000 if n < SLOWER_FROM else 1060} + $$ % 3))\n"},
            subject=SUBJECT if n == SLOWER_FROM else f"Change {n}",
        )
        for n in range(1, COMMITS + 1)
    ]
    make_repository(tmp_path / "origin.git", commits)
    git(tmp_path, "clone", "-q", "origin.git", "project")
    return tmp_path / "project"


def run(action: Mapping[str, Any], project: Path, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """The status of the first step that fails, what all print, and the action's outputs."""
    known = {name: one.get("default", "") for name, one in action["inputs"].items()}
    known |= {name.replace("_", "-"): value for name, value in inputs.items()}
    place = project.parent
    programs = place / "temp" / "buildbot-bench" / "bin"
    programs.mkdir(parents=True)
    (programs / "bench-bisect").symlink_to(Path(sys.executable).with_name("bench-bisect"))
    files = {name: str(place / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    runner = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
        **files,
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "RUNNER_TEMP": str(place / "temp"),
    }
    told = ""
    for step in action["runs"]["steps"]:
        own = {
            name: EXPRESSION.sub(lambda found: known[found[2]], text)
            for name, text in step.get("env", {}).items()
        }
        script = place / "script.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)],
            cwd=project,
            env=runner | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        told += done.stdout
        if done.returncode:
            return done.returncode, told, {}
    written = Path(files["GITHUB_OUTPUT"]).read_text().splitlines()
    values = dict(line.split("=", 1) for line in written)
    found = {
        name: EXPRESSION.sub(lambda one: values.get(one[2].split(".")[-1], ""), output["value"])
        for name, output in action["outputs"].items()
    }
    return 0, told, found


def test_inputs_reach_the_scripts_as_variables_alone(action: Mapping[str, Any]) -> None:
    steps = action["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)
    assert all(step["shell"] == "bash" for step in steps)
    used = {}
    for step in steps:
        for variable, text in step.get("env", {}).items():
            (sort, name) = EXPRESSION.fullmatch(text).groups()
            assert sort == "inputs"
            assert f'"${variable}"' in step["run"] or f"=${variable}" in step["run"]
            used[name] = variable
    assert used.keys() == action["inputs"].keys()
    assert {"culprit", "effect", "probability"} <= action["outputs"].keys()
    named = {EXPRESSION.fullmatch(one["value"])[2] for one in action["outputs"].values()}
    assert named == {f"search.outputs.{name}" for name in action["outputs"]}


def test_a_job_learns_the_culprit(action: Mapping[str, Any], project: Path) -> None:
    hostile = "$(touch pwned); `touch pwned` \" '"
    status, told, found = run(
        action,
        project,
        old="HEAD~7",
        new="HEAD",
        build='cp count.sh built.sh\ntest -z "${BENCH_NEW-}"',
        run="sh built.sh",
        value="last-number",
        unit=hostile,
        lower_is_better="true",
        min_effect="3%",
    )
    assert status == 0, told
    assert found["culprit"] == git(project, "rev-parse", f"HEAD~{COMMITS - SLOWER_FROM}")
    assert found["kind"] == "culprit"
    assert float(found["effect"]) == pytest.approx(0.06, abs=0.003)
    assert float(found["probability"]) >= 0.99
    assert not list(project.parent.rglob("pwned"))
    assert hostile in told
    begin, end = re.search(r"^::stop-commands::(\w{32})$", told, re.MULTILINE), told.rindex("::")
    assert begin is not None
    assert begin.end() < told.index("subject  Change what is counted") < end
    assert told.endswith(f"::{begin[1]}::\n")
    summary = (project.parent / "GITHUB_STEP_SUMMARY").read_text()
    assert "**not made**: The link order was not varied" in summary


def test_a_wrong_input_fails_the_step(action: Mapping[str, Any], project: Path) -> None:
    status, told, _ = run(action, project, old="none", new="HEAD", run="true")
    assert status == 2
    assert "'none' is no commit of this repository" in told


def test_gitlab_has_the_outputs_as_variables(project: Path) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("bench-bisect")),
            *("--local", "HEAD~1", "HEAD", "--run", "sh count.sh", "--value", "last-number"),
        ],
        cwd=project,
        env={**os.environ, "GITLAB_CI": "true", "CI_PROJECT_DIR": str(project)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert (project / DOTENV).read_text() == "BENCH_KIND=not-reproduced\n"
