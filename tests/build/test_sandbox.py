"""A script in a sandbox sees its own directory and the system's programs, and nobody else's.

Where the kernel refuses a sandbox, what is tested is that this is said.
"""

import shutil
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.core.build_log import EX_TEMPFAIL
from tests.running import ran

BWRAP = shutil.which("bwrap")
DEADLINE_S = 60.0


def refusal() -> str:
    """Why this machine has no sandbox; empty when it has one."""
    words = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    return ran(words).stderr.strip()


@dataclass(frozen=True, kw_only=True)
class Builder:
    """A builder's directory, with what others keep beside it."""

    home: Path

    @property
    def directory(self) -> Path:
        return self.home / "kernel"

    def run(self, script: str, *options: str, use: str = "bubblewrap", **env: str):
        command = [sys.executable, "-m", "buildbot_bench.build.cli", "sandboxed"]
        words = [f"--use={use}", f"--directory={self.directory}", *options, "--", "sh", "-c"]
        done = ran(
            [*command, *words, script],
            cwd=self.directory / "build",
            timeout=DEADLINE_S,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), **env},
        )
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    (tmp_path / "kernel" / "build").mkdir(parents=True)
    (tmp_path / "password").write_text("sesame")
    return Builder(home=tmp_path)


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.skipif(BWRAP is None, reason="there is no bubblewrap on the PATH")
def test_a_script_reads_no_secret_reaches_no_network_and_leaves_no_process(
    builder: Builder, port: int
) -> None:
    assert builder.run("exit 3", use="auto")[0] == 3
    if why := refusal():
        status, _, said = builder.run("true")
        assert (status, why.splitlines()[-1][:40] in said) == (EX_TEMPFAIL, True)
        return
    kept = builder.directory / "build" / "kernel"
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
    status, seen, said = builder.run(
        f'cat {builder.home}/password; ls {builder.home}; {sys.executable} -c "{connect}";'
        ' (while :; do date >> ticks; sleep 0.1; done) & echo built > kernel; echo "$HOME"; exit 7'
    )
    assert status == 7
    assert kept.read_text() == "built\n"
    assert seen.splitlines() == ["kernel", str(builder.directory / ".sandbox-home")]
    assert "sesame" not in seen
    assert "password: No such file" in said
    assert "Connection refused" in said
    assert _stands_still(kept.with_name("ticks"))


def _stands_still(file: Path) -> bool:
    """Whether nobody writes to a file any more, for as long as one did ten times."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        before = file.stat().st_size if file.exists() else 0
        time.sleep(1)
        if (file.stat().st_size if file.exists() else 0) == before:
            return True
    return False


@pytest.mark.skipif(BWRAP is None or refusal() != "", reason="no bubblewrap that the kernel takes")
def test_what_the_job_names_is_seen_and_written(builder: Builder) -> None:
    shared = builder.home / "shared"
    shared.mkdir()
    script = f"cat {builder.home}/password; touch {builder.home}/password {shared}/made"
    _, seen, said = builder.run(script, f"--read={builder.home}/password", "--write=~/shared")
    assert seen == "sesame"
    assert "Read-only file system" in said
    assert (shared / "made").exists()


def test_a_machine_without_it_says_so_or_builds_nothing(builder: Builder, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "sh").symlink_to(str(shutil.which("sh")))
    status, seen, said = builder.run("echo built", PATH=str(tools))
    assert (status, seen) == (EX_TEMPFAIL, "")
    assert "no sandbox: there is no bwrap on the PATH; install bubblewrap" in said
    status, seen, _ = builder.run("echo built", use="auto", PATH=str(tools))
    why = "note: not in a sandbox: there is no bwrap on the PATH"
    assert (status, seen.splitlines()) == (0, [why, "built"])
