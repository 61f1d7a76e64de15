"""bench-compare --local --value all: a suite of many values, told, and one of them searched."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.gitrepo import Commit, git, make_repository
from tests.running import ran

pytestmark = pytest.mark.e2e

# google-benchmark's JSON, each value with a little noise; every tenth is slower by LEVEL.
SUITE = """\
import json, os, random, sys
names = [f"BM_sort<int>/{{n}}" for n in range({names})]
rows = [
    {{"name": name, "run_name": name, "run_type": "iteration", "time_unit": "us",
     "real_time": (n + 1) * (1 if n % 10 else {level}) * random.gauss(1, 0.003)}}
    for n, name in enumerate(names)
]
rows.append({{"name": "BM_void", "run_type": "iteration", "real_time": 0.0}})
json.dump({{"context": {{"executable": "./b"}}, "benchmarks": rows}}, sys.stdout)
with open(os.environ["RUNS"], "a") as file:
    print(os.getpid(), file=file)
"""
RUN = ("--run", "python3 suite.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Four commits, of which the third makes a tenth of thirty values 6 % slower."""
    commits = [
        Commit(files={"suite.py": SUITE.format(names=names, level=level)}, subject=subject)
        for names, level, subject in (
            *((30, 1.0, "Begin"), (30, 1.0, "Comment"), (30, 1.06, "Slow"), (31, 1.06, "More")),
            (1001, 1.06, "Many"),
        )
    ]
    make_repository(tmp_path / "origin.git", commits)
    git(tmp_path, "clone", "-q", "origin.git", "project")
    return tmp_path / "project"


def asked(project: Path, program: str, *arguments: str) -> tuple[int, str, str]:
    done = ran(
        [str(Path(sys.executable).with_name(program)), "--local", *arguments],
        cwd=project,
        env={**os.environ, "RUNS": str(project.parent / "runs"), "COLUMNS": "80"},
        timeout=240,
    )
    return done.returncode, done.stdout, done.stderr


def runs(project: Path) -> int:
    path = project.parent / "runs"
    return len(path.read_text().split()) if path.exists() else 0


def test_all_values_of_a_suite_are_compared_and_one_of_them_is_searched(project: Path) -> None:
    ends = ("HEAD~4", "HEAD~1")
    status, said, told = asked(project, "bench-compare", *ends, *RUN, "--value", "all")
    assert status == 0, told
    assert said.startswith("3 of 30 values are worse: BM_sort<int>/")
    assert "27 without a difference of 2 % or more.\n2 not compared:\n" in said
    assert "  BM_void: 0 in HEAD~4, not above 0\n  BM_sort<int>/30: not in HEAD~4\n" in said
    assert "30 of 30 values are decided, with 5 runs of each" in told
    assert "bench-bisect finds its commit: --value 'google-benchmark:BM_sort<int>/" in told
    done = runs(project)
    report = ("--json", "--fail-on", "regression", "--html", str(project.parent / "c.html"))
    status, said, told = asked(project, "bench-compare", *ends, *RUN, "--value", "all", *report)
    assert (status, runs(project)) == (1, done), told
    found = {one["metric"]["name"]: one["changes"][0] for one in json.loads(said)["series"]}
    worse = [name for name, change in found.items() if change["verdict"] == "worse"]
    assert worse == [f"BM_sort<int>/{n}" for n in (0, 10, 20)]
    assert all(0.05 < found[name]["effect"] < 0.07 for name in worse)
    page = (project.parent / "c.html").read_text()
    assert "3 of 30 values are worse: BM_sort&lt;int&gt;/" in page
    assert "data:image" not in page
    value = "google-benchmark:BM_sort<int>/10"
    status, said, told = asked(project, "bench-bisect", *ends, *RUN, "--value", value)
    assert status == 0, told
    assert "subject  Slow" in said


def test_what_cannot_be_all_is_refused_before_anything_runs(project: Path) -> None:
    for program, arguments in (
        ("bench-bisect", ("HEAD~4", "HEAD", *RUN)),
        ("bench-compare", ("--aa", "HEAD", *RUN)),
        ("bench-compare", ("HEAD~4", "HEAD", *RUN, "--lower-is-better")),
    ):
        status, said, told = asked(project, program, *arguments, "--value", "all")
        assert (status, said, told.count("\n")) == (2, "", 1)
        assert "name" in told
    assert runs(project) == 0


def test_too_many_values_end_it_at_the_first_run(project: Path) -> None:
    status, said, told = asked(project, "bench-compare", "HEAD~4", "HEAD", *RUN, "--value", "all")
    assert (status, said) == (2, "")
    assert "a run prints 1,002 values, more than 1,000; have it run fewer, or name one" in told
    assert runs(project) == 2
