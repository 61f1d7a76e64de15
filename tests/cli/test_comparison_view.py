"""A comparison without a farm while it goes on: in a terminal a picture, elsewhere lines."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from buildbot_bench.cli.console import LineView
from buildbot_bench.cli.live import ComparisonLines
from buildbot_bench.local.comparing import ComparisonCourse, VariantCourse
from tests.gitrepo import Commit, make_repository
from tests.running import ran

SCRIPT = "echo {level}; sleep 0.3\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two commits; the second one's script prints a tenth more."""
    files = [{"bench.sh": SCRIPT.format(level=level)} for level in (1000, 1100)]
    make_repository(
        tmp_path / "p.git",
        [Commit(files=one, subject=f"Change {n}") for n, one in enumerate(files)],
    )
    return tmp_path / "p.git"


def command(project: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("bench-compare"))
    measured = ["--run", "sh bench.sh", "--value", "last-number", "--unit", "MB/s", "-n", "3"]
    return [program, "--local", "main~1", "main", *measured, "--repository", str(project)]


def test_a_terminal_shows_each_variant_and_what_is_done_now(project: Path) -> None:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        command(project), stdout=subprocess.PIPE, stderr=slave, env=environ, text=True
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            seen += os.read(master, 65536)
        except OSError:  # Linux's end of file on a terminal whose other side is closed
            break
    os.close(master)
    answer, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "better" in answer
    told = seen.decode()
    picture = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    for part in ("main against main~1: bench.sh", "2 of 6 runs", "measuring main", "1100", "+10"):
        assert part in picture
    assert told.rindex("\x1b[?25h") > told.rindex("\x1b[?25l")  # the cursor is shown again


def test_elsewhere_each_run_is_a_line_once(project: Path) -> None:
    done = ran(command(project), check=True)
    runs = [line for line in done.stderr.splitlines() if " runs  " in line]
    assert len(runs) == 6
    assert runs[0] == "1 of 6 runs  main~1  1000 MB/s"
    assert runs[-1].startswith("6 of 6 runs  ")


def test_what_was_known_before_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    def course(runs: int) -> ComparisonCourse:
        one = VariantCourse(label="v1", values=(1.0,) * runs, wanted=5, images=1)
        return ComparisonCourse(title="", unit="s", variants=(one,), now="", last=one)

    lines = LineView(sys.stderr, ComparisonLines())
    for runs in (3, 3, 4):
        lines.show(course(runs))
    assert capsys.readouterr().err == "4 of 5 runs  v1  1 s\n"
