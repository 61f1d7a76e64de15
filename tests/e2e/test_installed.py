"""The commands as they are installed with each extra: they work, or say what to install."""

import re
import signal
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.replay_farm import end_processes_in
from tests.gitrepo import git
from tests.installed import Environment, build_wheel
from tests.ports import free_port
from tests.readme import CHECKOUT, commands

pytestmark = pytest.mark.e2e

USAGE, INFRASTRUCTURE = 2, 4
STANDARD = {"bench-build", "bench-lab"}
CLI = STANDARD | {
    *("bench-bisect", "bench-comment", "bench-compare", "bench-judge", "bench-ministat"),
}
MASTER = CLI | {"bench-import"}
LAB = "--no-deps worker"
WORKING = {
    LAB: STANDARD,
    "": CLI,
    "worker": CLI,
    "cli": CLI,
    "master,postgresql": MASTER,
    "demo": MASTER | {"bench-farm"},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Environment]]:
    """Installs the wheel with extras, separated by commas, or with the packages of one alone."""
    wheel = build_wheel(tmp_path_factory.mktemp("wheel"))
    made: dict[str, Environment] = {}

    def install(extras: str) -> Environment:
        if extras not in made:
            root = tmp_path_factory.mktemp("installed") / "environment"
            alone = extras.startswith("--no-deps ")
            names = filter(None, extras.removeprefix("--no-deps ").split(","))
            made[extras] = Environment(root, wheel, *names, own=not alone)
        return made[extras]

    return install


@pytest.mark.parametrize("extras", WORKING)
def test_each_command_works_or_says_what_to_install(installed, extras: str) -> None:
    environment = installed(extras)
    assert set(environment.commands) == WORKING["demo"]
    for command in environment.commands:
        done = environment.run(command, "--help")
        assert (done.returncode, done.stderr) == (0, ""), command
        assert "usage" in done.stdout.lower()
        if command not in WORKING[extras]:
            done = environment.run(command)
            assert (done.returncode, done.stdout) == (USAGE, ""), command
            (line,) = done.stderr.splitlines()
            assert line.startswith(f"{command}: needs ")
            assert re.search(r": pip install (buildbot-bench|'buildbot-bench\[\w+\]')$", line)


def test_the_licence_comes_along(installed) -> None:
    (licence,) = installed("").packages.glob("buildbot_bench-*.dist-info/licenses/LICENSE")
    assert licence.read_text() == (CHECKOUT / "LICENSE").read_text()


def test_all_that_is_missing_is_named_at_once(installed) -> None:
    told = [
        installed(extras).run(command, "doctor").stderr
        for extras, command in (
            (LAB, "bench-bisect"),
            ("master,postgresql", "bench-farm"),
            (LAB, "bench-ministat"),
        )
    ]
    itself = "httpx, jinja2, numpy, pygit2, rich, scipy, unidiff and wcwidth"
    assert told == [
        f"bench-bisect: needs {itself}: pip install buildbot-bench\n",
        "bench-farm: needs aiosmtpd: pip install 'buildbot-bench[demo]'\n",
        f"bench-ministat: needs {itself}: pip install buildbot-bench\n",
    ]
    importing = installed(LAB).run("bench-import", "archive").stderr
    assert importing.endswith(": pip install 'buildbot-bench[master]'\n")
    assert {"numpy,", "pydantic,"} <= set(importing.split())


def test_a_search_of_ones_own_project_needs_no_extra(installed) -> None:
    environment = installed("")
    git(environment.root, "init", "--quiet")
    for number in range(4):
        (environment.root / "value").write_text(f"{90 if number > 1 else 100}{number}\n")
        git(environment.root, "add", "value")
        git(environment.root, "commit", "--quiet", f"--message=Change {number}")
    words = ("HEAD~3", "HEAD", "--run=cat value", "--value=last-number")
    found = environment.run("bench-bisect", "--local", *words)
    assert '"Change 2" lowered' in found.stdout, found.stderr
    compared = environment.run("bench-compare", "--local", *words)
    assert "-9.7" in compared.stdout, compared.stderr


def test_the_driver_of_a_database_is_named_when_it_is_asked_for(installed) -> None:
    options = (
        "archive",
        "--master=.",
        "--testbed=replay",
        "--db=postgresql+psycopg://127.0.0.1/bench",
    )
    workflow = f"--workflow={CHECKOUT / 'buildbot_bench' / 'demo' / 'replay.yml'}"
    done = installed("master").run("bench-import", *options, workflow)
    expected = "bench-import: needs psycopg: pip install 'buildbot-bench[postgresql]'\n"
    assert (done.returncode, done.stderr) == (USAGE, expected)


def test_what_works_does_something(installed, tmp_path: Path) -> None:
    (tmp_path / "old").write_text("1\n2\n3\n")
    (tmp_path / "new").write_text("7\n8\n9\n")
    for extras in ("cli", "master,postgresql"):
        done = installed(extras).run("bench-ministat", str(tmp_path / "old"), str(tmp_path / "new"))
        assert "Difference at 95.0% confidence" in done.stdout
        nobody = f"http://127.0.0.1:{free_port()}/"
        done = installed(extras).run("bench-bisect", "r1", "r2", "--farm", nobody)
        assert done.returncode == INFRASTRUCTURE, done.stderr
    shipped = installed(LAB).packages / "buildbot_bench" / "_shipped"
    testbeds = str(shipped / "workers" / "lab" / "testbeds.toml")
    done = installed(LAB).run("bench-lab", "list", "--testbeds", testbeds)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot" not in done.stdout


@pytest.mark.parametrize(
    ("command", "runs"),
    [("run", "The farm runs: http://localhost:"), ("demo", "the farm runs: http://localhost:")],
)
def test_a_farm_runs_from_an_empty_directory(
    installed, tmp_path: Path, command: str, runs: str
) -> None:
    environment: Environment = installed("demo")
    workflow = environment.packages / "buildbot_bench" / "_shipped" / "bench.yml"
    text = (CHECKOUT / "bench.yml").read_text()  # whose mail server has a port for all tests
    workflow.write_text(text.replace("smtp-port: 2525", f"smtp-port: {free_port()}"))
    farm = environment.start(
        tmp_path, "bench-farm", command, f"--port={free_port()}", f"--pb-port={free_port()}"
    )
    try:
        assert farm.stdout is not None
        said = []
        assert any(said.append(line) or runs in line for line in farm.stdout), "".join(said)
    finally:
        farm.send_signal(signal.SIGINT)
        farm.communicate(timeout=60)
        end_processes_in(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == [".farm"]


def test_manual_pages_and_completions_lie_where_they_are_looked_for(installed) -> None:
    environment: Environment = installed(LAB)
    share = environment.root / "share"
    for place, form in (
        ("man/man1", "{}.1"),
        ("bash-completion/completions", "{}"),
        ("fish/vendor_completions.d", "{}.fish"),
        ("zsh/site-functions", "_{}"),
    ):
        found = {path.name for path in (share / place).iterdir()}
        assert found == {form.format(command) for command in environment.commands}
    done = environment.run("bench-bisect", "--print-completion", "bash")
    assert "_shtab_bench_bisect" in done.stdout


def test_the_wheel_brings_templates_pages_and_recorded_data_along(installed) -> None:
    packages = installed("master,postgresql").packages / "buildbot_bench"
    for name in ("master.cfg", "bench.yml"):
        assert (packages / "_shipped" / name).is_file()
    for here, there in (
        (CHECKOUT / "templates", packages / "_shipped" / "templates"),
        (CHECKOUT / "workers", packages / "_shipped" / "workers"),
        (CHECKOUT / "buildbot_bench", packages),
    ):
        files = [path.relative_to(here) for path in here.rglob("*") if path.is_file()]
        ours = {path for path in files if "__pycache__" not in path.parts}
        assert {path for path in ours if not (there / path).is_file()} == set()
    program = (
        "from buildbot_bench.render.environment import environment as e; "
        "print(*[e().get_template(n).name for n in e().list_templates()])"
    )
    done = installed("master,postgresql").run("python", "-c", program)
    assert done.stdout.split() == sorted(path.name for path in (CHECKOUT / "templates").iterdir())


def test_what_the_documents_say_to_install_is_what_is_tried_here() -> None:
    told = re.findall(r"pip install [^\n]*?'\.\[([\w,]+)\]'", "\n".join(commands()))
    assert {"master,postgresql", "worker"} <= set(told)
    assert set(told) <= WORKING.keys() | {"test"}


def test_a_lab_controller_without_what_the_package_requires_has_a_worker(installed) -> None:
    listed = (CHECKOUT / "docs" / "how-to" / "install.md").read_text()
    (packages,) = re.findall(r"^\$ pip install ('buildbot-worker.*)$", listed, re.MULTILINE)
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    assert re.findall(r"'([^']+)'", packages) == extras["optional-dependencies"]["worker"]
    parts = ("lab.cli", "build.cli", "worker_connection", "steady_timers")
    program = "".join(f"import buildbot_bench.{part};" for part in parts)
    done = installed(LAB).run("python", "-c", f"{program} import buildbot_worker.bot")
    assert (done.returncode, done.stderr) == (0, "")
