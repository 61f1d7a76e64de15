"""What .ci/run decides by itself: which Pythons it tests with."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.readme import CHECKOUT
from tests.running import ran

CI = CHECKOUT / ".ci"
DEBIANS = "3.11.2"
TOOLS = ("bash", "grep", "sed", "sort")


@pytest.fixture
def pythons(tmp_path: Path):
    """Puts Pythons that tell a version, or fail, on a PATH; gives what is chosen among them."""

    def python(directory: str, name: str, version: str) -> Path:
        path = tmp_path / directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{f'echo {version}' if version else 'exit 127'}\n")
        path.chmod(0o755)
        return path

    def newest(**versions: str) -> str:
        debians = python("usr", "python3", DEBIANS)
        for name, version in versions.items():
            python("local", name.replace("_", "."), version)
        (tmp_path / "local").mkdir(exist_ok=True)
        for tool in TOOLS:
            (tmp_path / "usr" / tool).symlink_to(str(shutil.which(tool)))
        path = os.pathsep.join([str(tmp_path / "local"), str(tmp_path / "usr")])
        done = ran(
            [str(tmp_path / "usr" / "bash"), str(CI / "newest-python"), str(debians)],
            env={"PATH": path},
            check=True,
        )
        return str(Path(done.stdout.strip()).relative_to(tmp_path))

    return newest


def test_debians_own_python_is_the_newest_where_there_is_no_newer_one(pythons):
    assert pythons(python3="3.9.18") == "usr/python3"


def test_the_same_version_under_another_name_is_not_tested_twice(pythons):
    assert pythons(python3=DEBIANS) == "usr/python3"


def test_the_newest_python_is_told_by_its_version_and_not_by_its_name(pythons):
    newest = "99.10.0"
    chosen = pythons(python3="99.9.7", python3_99=newest, python3_100="99.9.8")
    assert chosen == "local/python3.99"


def test_a_python_that_does_not_start_is_none(pythons):
    assert pythons(python3="", python3_99="") == "usr/python3"


@pytest.mark.parametrize("script", ["run", "newest-python"])
def test_the_scripts_are_such(script: str):
    subprocess.run(["bash", "-n", str(CI / script)], check=True)


@pytest.mark.parametrize("make", ["make", "bmake"])
def test_the_fast_tests_run_with_any_python(make: str):
    if shutil.which(make) is None:
        pytest.skip(f"there is no {make}")
    told = ran(
        [make, "-n", "test-fast", "PYTHON=/usr/bin/python3", "VENV=.venv-elsewhere"],
        cwd=CHECKOUT,
        check=True,
    )
    assert "/usr/bin/python3 -m venv --clear .venv-elsewhere" in told.stdout
    assert ".venv-elsewhere/bin/python -m pytest" in told.stdout
