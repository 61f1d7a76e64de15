"""Every command that README.md and docs/ tell a reader to type does what it says."""

import re
import time
from pathlib import Path
from shlex import quote

import pytest

from tests.fakes.vm_kernels import need_machine
from tests.readme import (
    BLOCKS,
    CHECKOUT,
    FOLLOWED,
    FOLLOWED_WITH_A_MACHINE,
    KEPT,
    RUN_BLOCKS,
    block_with,
    commands,
    of,
    on,
    run,
)

pytestmark = pytest.mark.e2e

A_DAY = "tests/lab/hardware/test_day_tutorial.py"
CHAOS = "tests/e2e/test_chaos_in_brief.py, for a minute on each database"
# Each of these installs the package or is a test itself.
ELSEWHERE = {
    "make demo": "tests/e2e/test_demo.py",
    "make farm": "tests/e2e/test_iflib.py, on other ports",
    "make check": ".ci/run",
    "make test": ".ci/run",
    "make bench": "tests/benchmarks",
    "make load": "tests/benchmarks/test_load.py, on fewer commits",
    "make test-fast": ".ci/run",
    "make test-vm": ".ci/run",
    "make docs": "tests/manual/test_sphinx.py",
    "make picture": "tests/e2e/test_demo.py, and tests/manual/test_picture.py",
    "make chaos OPTIONS='--seed 7 --kills 1000 --minutes 60 --database both'": CHAOS,
    "make chaos OPTIONS='--only clock --minutes 5 --database sqlite'": CHAOS,
    "bench-lab check apu2 --testbeds testbeds.toml": A_DAY,
    "bench-lab run --testbed apu2 --artefact kernel.txz --workload forwarding -n 5": A_DAY,
    **dict.fromkeys(block_with("bench-lab check dice"), "tests/test_extensions.py"),
    "bench-farm run --lab vm": "tests/vm/test_vm_bisect.py, on other ports",
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


def of_a_lab() -> list[str]:
    """What a lab worker's command is asked that needs no machines of a lab."""
    return [one for one in of("bench-lab") if one not in ELSEWHERE]


def workers() -> list[str]:
    """The commands that make its workers, which tests/e2e/test_readme_farm.py types."""
    return block_with("buildbot.tac")


def short() -> list[str]:
    """What takes a second, and makes its files in a home at most."""
    wanted = ("bench-farm init ", "bench-farm certificates ", "bench-farm check ", "source <(")
    kept = {one for page in KEPT for block in on(page) for one in block.commands}
    found = [one for one in commands() if one.startswith(wanted) and one not in kept]
    return [*found, *(one for one in commands() if "--print-completion zsh" in one)]


def test_no_command_is_forgotten() -> None:
    here = {*of("bench-bisect"), *of("bench-compare"), *of_a_lab(), *setting_up()}
    pages = (FOLLOWED, FOLLOWED_WITH_A_MACHINE, *KEPT)
    whole = [block for page in pages for block in on(page)]
    followed = {one for block in RUN_BLOCKS if block in whole for one in block.commands}
    assert set(commands()) == here | {*workers(), *short()} | followed | set(ELSEWHERE)


def test_what_runs_the_others_is_there() -> None:
    named = re.findall(r"[\w./]+\.py", " ".join(ELSEWHERE.values()))
    assert named
    assert [one for one in named if not (CHECKOUT / one).exists()] == []


def test_each_block_of_commands_is_run_or_says_why_not() -> None:
    shells = [one for one in BLOCKS if one.language in {"console", "sh", "shell", "bash", ""}]
    typed = [one for one in shells if one.commands]
    assert [str(one) for one in typed if one.language != "console"] == []
    assert [str(one) for one in shells if not one.commands] == []
    unsaid = [one for one in typed if "reason" in one.marks and len(one.marks["reason"]) < 10]
    assert [str(one) for one in unsaid] == []


@pytest.mark.parametrize("command", short())
def test_a_short_command_ends_well_in_an_empty_home(command: str, tmp_path: Path) -> None:
    (tmp_path / ".zfunc").mkdir()
    done = run(f"exec bash -c {quote(command)}", HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("command", [command for command in of_a_lab() if " vm" not in command])
def test_the_lab_shows_its_testbeds(command: str, tmp_path: Path) -> None:
    shows_its_testbeds(command, tmp_path)


@pytest.mark.vm
@pytest.mark.parametrize("command", [command for command in of_a_lab() if " vm" in command])
def test_the_lab_shows_its_virtual_testbeds(command: str, tmp_path: Path) -> None:
    need_machine()
    shows_its_testbeds(command, tmp_path)


def shows_its_testbeds(command: str, tmp_path: Path) -> None:
    done = run(command, BENCH_LAB_STATE=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"embedded", "apu2", "ok"} & {*done.stdout.split()}


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
        run("buildbot stop ~/master", **environment)  # it waits for ten seconds at most
    # Its repository is missing: what fails in each cycle must not keep the master from ending.
    end_s = time.monotonic() + 60
    while (tmp_path / "master/twistd.pid").exists():
        assert time.monotonic() < end_s, "the master does not end"
        time.sleep(0.2)
