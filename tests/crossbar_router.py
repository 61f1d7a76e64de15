"""A WAMP router for tests of several masters: crossbar in an environment of its own.

It is installed once for all tests of a machine's user and release; tests that need it are skipped
where that fails. crossbar's requirements conflict with Buildbot's.
"""

import fcntl
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from buildbot_bench.demo.watching import Child, answers, wait_until
from tests.ports import free_port
from tests.running import ran

VERSION = "26.10.1"
INSTALL_S, START_S = 1200.0, 180.0
_PLACE = "BENCH_TEST_CROSSBAR"
_CONFIG = Path(__file__).parents[1] / "docs" / "crossbar.json"


class Router:
    """Listens on a port of this machine from `start` to `kill`, and again on the same one."""

    def __init__(self, home: Path) -> None:
        self.port = free_port()
        node = home / "crossbar"
        node.mkdir()
        config = json.loads(_CONFIG.read_text())
        (transport,) = config["workers"][0]["transports"]
        transport["endpoint"]["port"] = self.port
        (node / "config.json").write_text(json.dumps(config))
        command = [str(crossbar()), "start", "--cbdir", str(node), "--color", "false"]
        self.child = Child(
            name="crossbar", command=command, cwd=node, env={}, log=home / "crossbar.log"
        )

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.child.start()
        wait_until(lambda: answers(self.port), what="crossbar", timeout_s=START_S, child=self.child)

    def kill(self) -> None:
        """End the router and its controller at once."""
        if self.child.process is not None and self.child.running:
            os.killpg(self.child.process.pid, signal.SIGKILL)
            self.child.process.wait()


def crossbar() -> Path:
    """The program; that of $BENCH_TEST_CROSSBAR if that names a directory with one."""
    usual = Path(tempfile.gettempdir()) / f"bench-crossbar-{os.getuid()}-{VERSION}"
    place = Path(os.environ.get(_PLACE) or usual)
    program = place / "bin" / "crossbar"
    place.mkdir(mode=0o700, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        pytest.skip(f"{place} is another user's (set {_PLACE} to a directory of yours)")
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the same tests may install it
        if not (place / "ready").exists():
            _install(place)
            (place / "ready").touch()
    return program


def _install(place: Path) -> None:
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    for command in (
        [sys.executable, "-m", "venv", str(place)],
        # Of its 300 packages a router imports few: those are compiled when it starts.
        [*pip, "--disable-pip-version-check", "--no-compile", f"crossbar=={VERSION}"],
    ):
        done = ran(command, timeout=INSTALL_S)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            pytest.skip(f"crossbar {VERSION} cannot be installed: {last}")
