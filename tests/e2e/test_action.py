"""action.yml does in a job what it says: its steps are run as a runner runs them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from ruamel.yaml import YAML

from buildbot_bench.cli.outcomes import DOTENV
from tests.fakes.review_sites import NUMBER, REPOSITORY, TOKEN, Reviews, reviews
from tests.gitrepo import Commit, git, make_repository
from tests.readme import blocks
from tests.running import ran

pytestmark = pytest.mark.e2e

ACTION = Path(__file__).parents[2] / "action.yml"
CI = ACTION.parent / "docs/how-to/ci.md"
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


def run(
    action: Mapping[str, Any],
    project: Path,
    job: Mapping[str, str] = MappingProxyType({}),
    **inputs: str,
) -> tuple[int, str, dict[str, str]]:
    """The status of the first step that fails, what all print, and the action's outputs.

    As on a runner, only a step that is to run always runs after that. `job` is more environment.
    """
    known = {name: one.get("default", "") for name, one in action["inputs"].items()}
    known |= {name.replace("_", "-"): value for name, value in inputs.items()}
    place = project.parent
    programs = place / "temp" / "buildbot-bench" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in ("bench-bisect", "bench-compare", "bench-comment"):
        if not (programs / name).exists():
            (programs / name).symlink_to(Path(sys.executable).with_name(name))
    files = {name: str(place / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    runner = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
        **files,
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ACTION.parent),
        "RUNNER_TEMP": str(place / "temp"),
        **job,
    }
    told, status = "", 0
    for step in action["runs"]["steps"]:
        if status and step.get("if") != "always()":
            continue
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
        status = status or done.returncode
    path = Path(files["GITHUB_OUTPUT"])
    written = path.read_text().splitlines() if path.exists() else []
    values = dict(line.split("=", 1) for line in written)
    found = {
        name: EXPRESSION.sub(lambda one: values.get(one[2].split(".")[-1], ""), output["value"])
        for name, output in action["outputs"].items()
    }
    return status, told, found


def test_inputs_reach_the_scripts_as_variables_alone(action: Mapping[str, Any]) -> None:
    steps = action["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps)
    assert all(step["shell"] == "bash" for step in steps)
    assert [one.get("if") for one in steps] == [None, None, "always()"]
    used = {}
    for step in steps:
        for variable, text in step.get("env", {}).items():
            (sort, name) = EXPRESSION.fullmatch(text).groups()
            assert sort == "inputs"
            assert re.search(rf'"[^"]*\$\{{?{variable}\b', step["run"])
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


@pytest.fixture
def pull_request(tmp_path: Path) -> Iterator[tuple[Reviews, Mapping[str, str]]]:
    """What a job of a pull request knows, and the site where that is discussed."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": NUMBER}}))
    with reviews() as site:
        yield (
            site,
            {
                "GITHUB_API_URL": f"{site.url}/github",
                "GITHUB_REPOSITORY": REPOSITORY,
                "GITHUB_EVENT_PATH": str(event),
            },
        )


def test_a_pull_request_has_one_comment_and_a_regression_fails_its_step(
    action: Mapping[str, Any], project: Path, pull_request
) -> None:
    site, job = pull_request
    ask = {"mode": "compare", "value": "last-number", "lower_is_better": "true", "token": TOKEN}
    # A token in what is measured would fail it.
    ask["run"] = 'test -z "${BENCH_TOKEN-}${BENCH_MODE-}${GITHUB_TOKEN-}" && sh count.sh'
    git(project, "checkout", "-q", f"HEAD~{COMMITS - SLOWER_FROM}")
    statuses = [run(action, project, job, **ask, fail_on=why)[0] for why in ("never", "regression")]
    assert statuses == [0, 1]
    (text,) = site.texts
    assert re.search(r"\| new \| .*\| worse \|", text)
    git(project, "checkout", "-q", "HEAD~1")
    status, told, found = run(action, project, job, **ask, fail_on="regression")
    assert status == 0, told
    assert found["verdicts"] == "no difference"
    assert site.texts == [f"<!-- buildbot-bench:bench -->\n{Path(found['report']).read_text()}"]


def test_a_report_of_another_job_becomes_a_comment(
    action: Mapping[str, Any], project: Path, pull_request, tmp_path: Path
) -> None:
    site, job = pull_request
    report = tmp_path / "of-a-fork.md"
    report.write_text("**measured without a token**\n")
    status, told, _ = run(
        action, project, job, mode="comment", report=str(report), token=TOKEN, name="fork"
    )
    assert status == 0, told
    assert site.texts == ["<!-- buildbot-bench:fork -->\n**measured without a token**\n"]


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


def test_the_documents_name_inputs_and_outputs_that_there_are(action: Mapping[str, Any]) -> None:
    read = YAML(typ="safe", pure=True)
    ours = [
        step
        for text in blocks("yaml", "docs/how-to/ci.md")
        if "OWNER/buildbot-bench@REF" in text
        for found in [read.load(text)]
        for job in (found["jobs"].values() if isinstance(found, dict) else [{"steps": found}])
        for step in job["steps"]
        if step.get("uses") == "OWNER/buildbot-bench@REF"
    ]
    assert [one["with"].get("mode") for one in ours] == ["compare", "compare", "comment", None]
    assert all(one["with"].keys() <= action["inputs"].keys() for one in ours)
    page = CI.read_text(encoding="utf-8")
    assert set(re.findall(r"steps\.bench\.outputs\.(\w+)", page)) <= action["outputs"].keys()


def test_gitlab_s_job_of_the_documents_comments_and_fails(project: Path, pull_request) -> None:
    site, _ = pull_request
    (text,) = blocks("yaml", "docs/how-to/ci.md", part="bench")
    lines = YAML(typ="safe", pure=True).load(text)["bench"]["script"][1:]
    script = "\n".join(lines).replace("make lib", "true").replace("./bench", "'sh count.sh'")
    base = git(project, "rev-parse", "HEAD~7")
    job = {
        "GITLAB_CI": "true",
        "CI_PROJECT_DIR": str(project),
        "CI_API_V4_URL": f"{site.url}/gitlab",
        "CI_PROJECT_ID": "group/src",
        "CI_MERGE_REQUEST_IID": str(NUMBER),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "BENCH_TOKEN": TOKEN,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    # A build whose images differ, so that 6 % can be decided.
    script = script.replace("'true'", "'echo \"# $BENCH_IMAGE\" >>count.sh'")
    done = ran(
        ["sh", "-c", script.replace("last-number", "last-number --lower-is-better")],
        cwd=project,
        env={**os.environ, **job},
        timeout=240,
    )
    assert done.returncode == 1, done.stderr
    assert "worse" in site.texts[0]
    assert (project / DOTENV).read_text() == "BENCH_VERDICTS=worse\n"
