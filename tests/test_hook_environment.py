"""No process of ours, nor any that it starts, works in the repository of a hook that started it."""

import ast
import os
import sys
from pathlib import Path

import pytest

from buildbot_bench.process_environment import OF_ONE_REPOSITORY
from tests.gitrepo import Commit, git, make_repository
from tests.running import ran

ROOT = Path(__file__).parents[1]
# What stands at the beginning of each kind of process: a command, a worker, a master.
BEGINNINGS = {
    "command": "import buildbot_bench.commands",
    "job of a worker": "import buildbot_bench.lab.command.supervisor",
    "worker": "from buildbot_bench.worker_connection import worker_connection",
    "master": "from buildbot.plugins import util; util.BenchConfigurator",
}
# Two have an index of their own, of a directory that is gone afterwards.
MEANT = {
    "buildbot_bench/process_environment.py",
    "buildbot_bench/history/git.py",
    "buildbot_bench/local/revisions.py",
}


def listed() -> list[str]:
    asked = ["git", "rev-parse", "--local-env-vars"]
    return ran(asked, check=True).stdout.split()


def test_all_that_git_lists_is_named():
    assert set(listed()) <= set(OF_ONE_REPOSITORY)


@pytest.mark.parametrize("kind", BEGINNINGS)
def test_a_process_drops_what_means_one_repository(kind):
    program = f"{BEGINNINGS[kind]}\nimport subprocess; subprocess.run(['env'], check=True)"
    meant = dict.fromkeys(listed(), "/nowhere")
    done = ran([sys.executable, "-c", program], env={**os.environ, **meant}, check=True)
    assert [line for line in done.stdout.splitlines() if line.endswith("=/nowhere")] == []


def test_the_workers_begin_so_and_nothing_brings_a_variable_back():
    for tac in ROOT.glob("workers/*/buildbot.tac"):
        assert BEGINNINGS["worker"] in tac.read_text()
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "buildbot_bench").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in OF_ONE_REPOSITORY
    }
    assert found == MEANT


HOOK = """\
#!/bin/sh
{program} --local HEAD~1 HEAD -n 1 --build 'git init -q inner && git -C inner add .' \\
    --run 'cat number' --value last-number >"$LOG" 2>&1
"""


def test_in_a_hook_the_commit_is_what_was_staged(tmp_path, monkeypatch):
    commits = [Commit(files={"number": f"{n}\n", "other": "1\n"}) for n in (1, 2)]
    make_repository(tmp_path / "origin.git", commits)
    git(tmp_path, "clone", "-q", "origin.git", "project")
    project = tmp_path / "project"
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.write_text(HOOK.format(program=Path(sys.executable).with_name("bench-compare")))
    hook.chmod(0o755)
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    for value, way in enumerate(("-a", "number"), start=3):
        staged = ["number", "other"] if way == "-a" else ["number"]
        for name in ("number", "other"):
            (project / name).write_text(f"{value}\n")
        git(project, "commit", "-q", "-m", "A change", way)
        assert "HEAD against HEAD~1" in (tmp_path / "log").read_text()
        assert git(project, "show", "--name-only", "--format=", "HEAD").split() == staged
        assert git(project, "show", "HEAD:number") == str(value)
    assert git(project, "status", "--short") == "M other"
