"""What a repository's bench.yml says of a local search, and what command lines cannot say."""

from pathlib import Path

import pytest

from buildbot_bench.cli import bisect, compare
from buildbot_bench.cli.local_arguments import (
    LocalOptions,
    LocalTask,
    parse_local_bisect,
    parse_local_compare,
)
from buildbot_bench.cli.local_workflow import TESTBEDS, task_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.local.recipe import BuildStep
from buildbot_bench.programs import Git
from tests.gitrepo import Commit, git, make_repository

WORKFLOW = """\
name: Compress
repository: .
env: {CFLAGS: -O2, OF: all}
testbeds:
  runner: {worker: lab, boot: 1s, run: 1s, labels: [quiet], min-effect: 3%}
  apu2: {worker: lab, boot: 1s, run: 1s}
jobs:
  library:
    runs-on: builder
    timeout-minutes: 7
    env: {OF: job}
    steps:
      - uses: checkout
      - run: make lib
        env: {OF: step}
      - run: tar -czf ../bench.tar.gz bench
        working-directory: src
      - uses: upload-artefact
        with: {path: bench.tar.gz}
  quiet:
    needs: library
    runs-on: quiet
    strategy: {matrix: {workload: [compress, count]}}
  kernels:
    needs: library
    runs-on: apu2
    strategy: {matrix: {workload: [forwarding]}}
regression: {error: 5%}
"""
BEDS = """\
[testbeds.runner]
driver = "command"
[testbeds.runner.workloads.compress]
run = "./bench"
value = "last-number"
unit = "MB/s"
[testbeds.runner.workloads.count]
run = "./bench"
value = "instructions"
[testbeds.runner.workloads.idle]
run = "./idle"
value = "wall"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_repository(tmp_path / "origin.git", [Commit(files={"a": "1"})])
    git(tmp_path, "clone", "-q", "origin.git", "project")
    place = tmp_path / "project"
    (place / "bench.yml").write_text(WORKFLOW)
    (place / "testbeds.toml").write_text(BEDS)
    return place


def task(project: Path, *arguments: str) -> LocalTask:
    options = parse_local_bisect(["--local", "a", "b", *arguments])
    return task_of(options, Git.around(project))


def test_the_build_jobs_steps_build_and_a_command_testbed_measures(project: Path) -> None:
    (project / "sub").mkdir()
    found = task(project / "sub", "--workload", "compress")
    assert found.steps == (
        BuildStep(script="make lib", environment=(("CFLAGS", "-O2"), ("OF", "step")), strict=True),
        BuildStep(
            script="tar -czf ../bench.tar.gz bench",
            environment=(("CFLAGS", "-O2"), ("OF", "job")),
            directory="src",
            strict=True,
        ),
    )
    assert (found.upload, found.artefacts) == ("bench.tar.gz", ())
    assert (found.name, found.workload.run, found.workload.unit) == ("compress", "./bench", "MB/s")
    assert (found.min_effect, found.error, found.build_timeout_s) == (0.03, 0.05, 420.0)


def test_what_is_typed_wins_over_the_workflow(project: Path) -> None:
    typed = ("--min-effect", "1%", "--build-timeout", "2m", "--testbed", "runner")
    found = task(project, "--workload", "count", *typed)
    assert (found.min_effect, found.build_timeout_s) == (0.01, 120.0)


@pytest.mark.parametrize("place", TESTBEDS)
def test_testbeds_lie_beside_the_workflow_or_in_the_lab(place: str, project: Path) -> None:
    (project / "testbeds.toml").unlink()
    (project / place).parent.mkdir(parents=True, exist_ok=True)
    (project / place).write_text(BEDS)
    assert task(project, "--workload", "count").name == "count"


def test_the_workflow_and_the_testbeds_may_lie_elsewhere(project: Path, tmp_path: Path) -> None:
    for name in ("bench.yml", "testbeds.toml"):
        (project / name).rename(tmp_path / f"my-{name}")
    files = ("--workflow", str(tmp_path / "my-bench.yml"))
    with pytest.raises(UsageError, match=r"there is no testbeds\.toml beside .*my-bench\.yml"):
        task(project, *files)
    files = (*files, "--testbeds", str(tmp_path / "my-testbeds.toml"))
    assert task(project, *files, "--workload", "count").name == "count"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "measures compress, count by commands; name one by --workload"),
        (("--workload", "cuont"), "--workload cuont: there is none; did you mean 'count'"),
        (("--workload", "forwarding"), "--workload forwarding: there is none"),
        (("--workload", "idle"), "--workload idle: there is none"),
        (("--workload", "count", "--testbed", "apu2"), "--testbed apu2: there is none"),
        (("--value", "wall"), "--value goes with --run"),
        (("--cpus", "1"), "--cpus goes with --run"),
        (("--run", "x", "--workload", "count"), "--workload goes without --build and --run"),
        (("--build", "make"), "--run is missing"),
    ],
)
def test_what_cannot_be_is_named(arguments: tuple[str, ...], complaint: str, project) -> None:
    with pytest.raises(UsageError) as caught:
        task(project, *arguments)
    assert complaint in str(caught.value)


def test_a_repository_without_a_workflow_needs_the_command(project: Path) -> None:
    (project / "bench.yml").unlink()
    with pytest.raises(UsageError, match=r"--run is missing.*there is no .*/project/bench\.yml"):
        task(project)


def test_a_workflow_that_measures_by_no_command_is_refused(project: Path) -> None:
    (project / "testbeds.toml").write_text('[testbeds.other]\ndriver = "embedded"\n')
    with pytest.raises(UsageError, match="no job of the workflow measures"):
        task(project)


def test_where_the_answer_goes_and_a_forecast_are_not_typed_again() -> None:
    words = ["--local", "a", "b", "--run", "x", "--html", "y", "--dry-run", "--markdown"]
    options = parse_local_compare(words)
    assert (options.html, options.dry_run) == (Path("y"), True)
    assert options.typed == ("--run", "x")


@pytest.mark.parametrize("asked", [bisect.COMMAND.is_local, compare.COMMAND.is_local])
@pytest.mark.parametrize(
    ("line", "local"),
    [
        ("--local a b", True),
        ("a b --json --local", True),
        ("--build --local", True),
        ("a b", False),
        ("a b --user --local", False),
        ("a b -- --local", False),
        ("--user=--local a b", False),
        ("--user x --local a b", True),
    ],
)
def test_local_is_an_option_and_no_value_of_one(asked, line: str, local: bool) -> None:
    assert asked(line.split()) is local


def test_the_options_of_the_workflow_are_typed_again() -> None:
    words = ["--local", "a", "b", "--workload", "count", "--json"]
    options: LocalOptions = parse_local_bisect(words)
    assert options.typed == ("--workload", "count")
