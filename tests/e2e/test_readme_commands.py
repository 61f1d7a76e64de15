"""Every command that the README tells a reader to type does what it says."""

import shutil
from pathlib import Path

import pytest

from tests.fakes.vm_kernels import need_machine
from tests.readme import block_with, commands, of, run

pytestmark = pytest.mark.e2e

# Each of these installs the package or is a test itself.
ELSEWHERE = {
    "make demo": "tests/e2e/test_demo.py",
    "make farm": "tests/e2e/test_iflib.py, on other ports",
    "make check": ".ci/run",
    "make test": ".ci/run",
    "make bench": "tests/benchmarks",
    "make load": "tests/benchmarks/test_load.py, on fewer commits",
    "make test-vm": ".ci/run",
    "bench-farm run --lab vm": "tests/vm/test_vm_bisect.py, on other ports",
    "bench-farm init ~/farm": "tests/e2e/test_init_farm.py, with flags; tests/demo/test_init.py",
    "bench-farm doctor": "tests/plugin/db/test_db_doctor.py",
    "bench-farm verify": "tests/plugin/db/test_db_verify.py",
    "bench-farm backup ~/farm-backup": "tests/plugin/db/test_db_backup.py",
    "bench-farm restore ~/farm-backup --dir ~/farm": "tests/plugin/db/test_db_backup.py",
    "python3 -m venv /opt/buildbot-bench": "the Makefile's own recipe",
    "/opt/buildbot-bench/bin/pip install -c constraints.txt '.[master,postgresql]'": "likewise",
    "/opt/buildbot-bench/bin/pip install -c constraints.txt '.[worker]'": "likewise",
    "PATH=/opt/buildbot-bench/bin:$PATH": "tests/e2e/test_readme_farm.py",
}
SERVER = "postgresql+psycopg://bench@localhost/bench"


def setting_up() -> list[str]:
    """The commands that make the master of a farm that stays, in order."""
    wanted = ("buildbot", "mkdir", "(umask", "BENCH_DB")
    return [one for one in block_with("create-master") if one.startswith(wanted)]


def workers() -> list[str]:
    """The commands that make its workers, which tests/e2e/test_readme_farm.py types."""
    return block_with("buildbot.tac")


def test_no_command_is_forgotten() -> None:
    here = {*of("bench-bisect"), *of("bench-compare"), *of("bench-lab"), *setting_up()}
    assert set(commands()) == here | {*workers()} | set(ELSEWHERE)


@pytest.mark.parametrize(
    "command", [command for command in of("bench-lab") if " vm" not in command]
)
def test_the_lab_shows_its_testbeds(command: str, tmp_path: Path) -> None:
    shows_its_testbeds(command, tmp_path)


@pytest.mark.vm
@pytest.mark.parametrize("command", [command for command in of("bench-lab") if " vm" in command])
def test_the_lab_shows_its_virtual_testbeds(command: str, tmp_path: Path) -> None:
    need_machine()
    shows_its_testbeds(command, tmp_path)


def shows_its_testbeds(command: str, tmp_path: Path) -> None:
    done = run(command, BENCH_LAB_STATE=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "embedded" in done.stdout or "ok" in done.stdout


def test_a_farm_that_stays_is_set_up_and_starts(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/state.sqlite"
    environment = {
        "HOME": str(tmp_path),
        "BENCH_WWW": "tcp:0:interface=127.0.0.1",
        "BENCH_PB": "tcp:0:interface=127.0.0.1",
    }
    try:
        for command in setting_up():
            done = run(command.replace(SERVER, database), **environment)
            assert done.returncode == 0, done.stdout + done.stderr
    finally:
        run("buildbot stop ~/master", **environment)
        shutil.rmtree(tmp_path / "master", ignore_errors=True)
