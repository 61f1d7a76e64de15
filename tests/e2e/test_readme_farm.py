"""The README's "A farm that stays", typed word for word in an empty home, builds and measures.

Only what must differ here is said otherwise: where the package is installed, which is this
environment, the database, and the ports, by the variables that the README names.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from buildbot_bench.demo.generated_history import LABELS, make_embedded_history, publish
from tests.asking import ASKED
from tests.e2e.replay_farm import end_processes_in
from tests.ports import free_port
from tests.readme import CHECKOUT, block_with
from tests.running import ran

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

INSTALLED = "/opt/buildbot-bench"
DATABASE = "postgresql+psycopg://bench@localhost/bench"
COPIED = ("workers", "master.cfg", "bench.yml", "constraints.txt")
DEADLINE_S = 240.0
ITERATIONS = 5


@dataclass(kw_only=True)
class Newcomer:
    """Somebody with a checkout and an empty home, at a shell."""

    root: Path
    database: str | None
    www_port: int = field(default_factory=free_port)
    pb_port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.checkout, self.home = self.root / "checkout", self.root / "home"
        self.checkout.mkdir()
        self.home.mkdir()
        for name in COPIED:
            copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copyfile
            copy(CHECKOUT / name, self.checkout / name)
        self.installed = self.root / "opt" / "buildbot-bench"
        self.installed.parent.mkdir()
        self.installed.symlink_to(sys.prefix)
        # What bench.yml as it is shipped watches.
        self.shas = make_embedded_history(self.root / "history")
        self.push(LABELS[0])

    def push(self, label: str) -> None:
        """Let all commits up to a label come."""
        publish(self.root / "history", self.checkout / ".farm" / "src", label, self.shas)

    def type(self, commands: list[str]) -> None:
        """Run the commands one after the other in one shell, which ends at the first that fails."""
        done = ran(
            ["sh", "-e", "-c", "\n".join(map(self._here, filter(_installs_nothing, commands)))],
            cwd=self.checkout,
            env=self._environment(),
            timeout=DEADLINE_S,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def get(self, path: str) -> Any:
        """What the master answers to a program."""
        answer = httpx.get(f"http://localhost:{self.www_port}/{path}", **ASKED).raise_for_status()
        return answer.json()

    def probe_of(self, label: str) -> dict[str, Any]:
        """What was asked for last of a pushed revision, but to confirm it; {} before that."""
        probes = self.get("api/v2/bench/probes")["probes"]
        mine = (one for one in probes if one["label"] == label and one["reason"] != "confirm")
        return next(mine, {})

    def trouble(self) -> str | None:
        """What the Lab page says of the newest job that gave nothing."""
        (lab,) = self.get("api/v2/bench/lab")["views"]
        return next(one["trouble"] for one in lab["testbeds"] if one["testbed"] == "embedded")

    def wait(self, condition: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, (
                f"not within {DEADLINE_S:.0f} s: {what}{self.logs()}"
            )
            time.sleep(0.5)

    def logs(self) -> str:
        """The ends of what master and workers wrote."""
        tails = (
            f"\n--- {log}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            for log in sorted(self.home.glob("*/twistd.log"))
        )
        return "".join(tails)

    def _here(self, command: str) -> str:
        command = command.replace(INSTALLED, str(self.installed))
        if self.database is None:
            return command.replace(f" --db={DATABASE}", "").replace(f"BENCH_DB={DATABASE} ", "")
        return command.replace(DATABASE, self.database)

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "BENCH_URL": f"http://localhost:{self.www_port}/",
            "BENCH_WWW": f"tcp:{self.www_port}:interface=127.0.0.1",
            "BENCH_PB": f"tcp:{self.pb_port}:interface=127.0.0.1",
            "BENCH_MASTER_PORT": str(self.pb_port),
        }


def _installs_nothing(command: str) -> bool:
    """The package and what it needs are here already; tests need no network."""
    return not command.startswith(("python3 -m venv ", f"{INSTALLED}/bin/pip install "))


@pytest.fixture
def newcomer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Newcomer]:
    on_server = request.param == "postgresql"
    database = request.getfixturevalue("database") if on_server else None
    yield Newcomer(root=tmp_path.resolve(), database=database)
    end_processes_in(tmp_path.resolve())


def assert_measured(probe: dict[str, Any]) -> None:
    """A boot that gave no value, as other programs took all of the machine, was made again."""
    assert len(probe["values"]) == ITERATIONS, probe
    assert probe["failure"] is None or "the machine is overloaded" in probe["failure"]


@pytest.mark.parametrize("newcomer", ["postgresql"], indirect=True)
def test_a_farm_that_stays_builds_and_measures_what_is_pushed(newcomer: Newcomer) -> None:
    newcomer.type(block_with("create-master") + block_with("buildbot.tac"))
    for label in LABELS[:2]:
        newcomer.push(label)
        newcomer.wait(lambda known=label: newcomer.probe_of(known).get("state") == "done", label)
        assert_measured(newcomer.probe_of(label))
    assert {path.name for path in (newcomer.home / "lab").iterdir()} >= {
        "artefacts",
        "state",
        "testbeds.toml",
    }


@pytest.mark.parametrize("newcomer", ["sqlite"], indirect=True)
def test_a_forgotten_list_of_testbeds_is_told_and_can_be_brought(newcomer: Newcomer) -> None:
    forgotten = "cp workers/lab/testbeds.toml ~/lab"
    rest = [one for one in block_with("buildbot.tac") if one != forgotten]
    newcomer.type(block_with("create-master") + rest)
    newcomer.wait(newcomer.trouble, "the reason on the Lab page")
    why = newcomer.probe_of(LABELS[0])["failure"]
    assert why == newcomer.trouble()
    assert why.startswith("bench-lab: cannot read the list of testbeds: ")
    assert "'…/testbeds.toml'" in why  # where it is, is nothing for who reads pages
    assert "name it by --testbeds FILE or BENCH_LAB_TESTBEDS" in why
    newcomer.type([forgotten])
    newcomer.wait(lambda: newcomer.probe_of(LABELS[0])["state"] == "done", "the measurement")
    assert_measured(newcomer.probe_of(LABELS[0]))
    assert newcomer.trouble() is None
