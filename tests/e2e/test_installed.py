"""The commands as they are installed with each extra: they work, or say what to install."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from buildbot_bench.demo.processes import free_port
from tests.installed import Environment, build_wheel
from tests.readme import CHECKOUT, TEXT

pytestmark = pytest.mark.e2e

USAGE, INFRASTRUCTURE = 2, 4
STANDARD = {"bench-build", "bench-lab"}
CLI = STANDARD | {"bench-bisect", "bench-compare", "bench-ministat"}
MASTER = CLI | {"bench-import"}
WORKING = {
    "": STANDARD,
    "worker": STANDARD,
    "cli": CLI,
    "master,postgresql": MASTER,
    "demo": MASTER | {"bench-farm"},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Environment]]:
    """Installs the wheel with extras, separated by commas."""
    wheel = build_wheel(tmp_path_factory.mktemp("wheel"))
    made: dict[str, Environment] = {}

    def install(extras: str) -> Environment:
        if extras not in made:
            root = tmp_path_factory.mktemp("installed") / "environment"
            made[extras] = Environment(root, wheel, *filter(None, extras.split(",")))
        return made[extras]

    return install


@pytest.mark.parametrize("extras", WORKING)
def test_each_command_works_or_says_what_to_install(installed, extras: str) -> None:
    environment = installed(extras)
    assert set(environment.commands) == WORKING["demo"]
    for command in environment.commands:
        done = environment.run(command, "--help")
        assert "Traceback" not in done.stderr
        if command in WORKING[extras]:
            assert (done.returncode, done.stderr) == (0, ""), command
            assert "usage" in done.stdout.lower()
        else:
            assert (done.returncode, done.stdout) == (USAGE, ""), command
            (line,) = done.stderr.splitlines()
            assert line.startswith(f"{command}: needs ")
            assert ": pip install 'buildbot-bench[" in line


def test_the_licence_comes_along(installed) -> None:
    (licence,) = installed("").packages.glob("buildbot_bench-*.dist-info/licenses/LICENSE")
    assert licence.read_text() == (CHECKOUT / "LICENSE").read_text()


def test_all_that_is_missing_is_named_at_once(installed) -> None:
    told = [
        installed(extras).run(command, "--help").stderr
        for extras, command in (
            ("", "bench-bisect"),
            ("master,postgresql", "bench-farm"),
            ("worker", "bench-ministat"),
        )
    ]
    of_cli = "httpx, numpy, rich, scipy, unidiff and wcwidth"
    assert told == [
        f"bench-bisect: needs {of_cli}: pip install 'buildbot-bench[cli]'\n",
        "bench-farm: needs aiosmtpd: pip install 'buildbot-bench[demo]'\n",
        f"bench-ministat: needs {of_cli}: pip install 'buildbot-bench[cli]'\n",
    ]


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
    testbeds = str(CHECKOUT / "workers" / "lab" / "testbeds.toml")
    done = installed("worker").run("bench-lab", "list", "--testbeds", testbeds)
    assert (done.returncode, done.stderr) == (0, "")
    done = installed("demo").run("bench-farm", "run")
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "clone the repository and run `make farm`" in done.stderr


def test_the_wheel_brings_templates_pages_and_recorded_data_along(installed) -> None:
    packages = installed("master,postgresql").packages / "buildbot_bench"
    for here, there in (
        (CHECKOUT / "templates", packages / "_templates"),
        (CHECKOUT / "buildbot_bench", packages),
    ):
        files = [path.relative_to(here) for path in here.rglob("*") if path.is_file()]
        ours = {path for path in files if "__pycache__" not in path.parts}
        assert {path for path in ours if not (there / path).is_file()} == set()
    program = (
        "from buildbot_bench.render.environment import templates, environment as e; "
        "print(*[e().get_template(n).name for n in e().list_templates()])"
    )
    done = installed("master,postgresql").run("python", "-c", program)
    assert done.stdout.split() == sorted(path.name for path in (CHECKOUT / "templates").iterdir())


def test_what_the_readme_says_to_install_is_what_is_tried_here() -> None:
    told = re.findall(r"pip install [^\n]*?'\.\[([\w,]+)\]'", TEXT)
    assert {"master,postgresql", "cli", "worker"} <= set(told)
    assert set(told) <= WORKING.keys() | {"test"}
