"""The command as a process: a terminal of its own, Ctrl-C, a farm that restarts meanwhile."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests import terminal
from tests.fakes.farm import FakeFarm
from tests.fakes.rehearsal import TEXT, Probe

COMMAND = (sys.executable, "-m", "buildbot_bench.cli.bisect")
RANGE = ("r311848", "r313448")
Spawn = Callable[..., subprocess.Popen[str]]
DEADLINE_S = 120.0


@pytest.fixture
def spawn(farm: FakeFarm) -> Spawn:
    """The command as a process of its own."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *arguments, "--farm", farm.url, "--poll", "0.01s"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"the command ended without saying {text!r}")


def test_interrupt_says_how_to_come_back_and_leaves_the_search(
    farm: FakeFarm, spawn: Spawn
) -> None:
    farm.hold_after = 2
    process = spawn(*RANGE)
    wait_for_line(process, "probe 2")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (130, "")
    assert err == (f"search 7 goes on; come back with: bench-bisect --follow 7 --farm {farm.url}\n")
    assert farm.searches[7].state == "running"
    farm.release()
    out, _ = spawn("--follow", "7").communicate(timeout=DEADLINE_S)
    assert out == TEXT


def test_restart_of_the_farm_is_survived(farm: FakeFarm, spawn: Spawn) -> None:
    farm.hold_after = 2
    process = spawn(*RANGE)
    wait_for_line(process, "probe 2")
    farm.stop()
    wait_for_line(process, "trying again for 15 min")
    farm.start()
    farm.release()
    out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out) == (0, TEXT)
    assert err.count("trying again") == 0
    assert err.startswith("the farm answers again\n")


def test_reader_who_goes_away_is_no_traceback(spawn: Spawn) -> None:
    process = spawn(*RANGE, "--dry-run")
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=DEADLINE_S)
    assert process.stderr is not None
    assert (process.returncode, process.stderr.read()) == (141, "")


def test_terminal_without_unicode_is_no_traceback(
    farm: FakeFarm, spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    farm.text = "at least ≥ 2 %\n"
    out, _ = spawn(*RANGE).communicate(timeout=DEADLINE_S)
    assert out == "at least ? 2 %\n"


def in_a_terminal(*arguments: str, interrupt_at: bytes | None = None) -> tuple[int, str, str]:
    return terminal.in_a_terminal((*COMMAND, *arguments), interrupt_at=interrupt_at)


def test_terminal_shows_range_probes_and_suspects(farm: FakeFarm) -> None:
    status, out, seen = in_a_terminal(*RANGE, "--farm", farm.url, "--poll", "0.3s")
    assert (status, out) == (0, TEXT)
    picture = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen)
    shown = ("1,600 commits", "●", "█", "540,123 pps", "(r311848, r311849]", "-25.6 %", "to go")
    for part in shown:
        assert part in picture
    assert seen.rindex("\x1b[?25h") > seen.rindex("\x1b[?25l")  # the cursor is shown again


def test_interrupt_restores_the_terminal(farm: FakeFarm) -> None:
    farm.hold_after = 2
    status, out, seen = in_a_terminal(
        *RANGE, "--farm", farm.url, "--poll", "0.05s", interrupt_at=b"540,300 pps"
    )
    assert (status, out) == (130, "")
    assert seen.rindex("bench-bisect --follow 7") > seen.rindex("\x1b[?25h")


def test_hostile_text_is_not_drawn(farm: FakeFarm) -> None:
    farm.subject = hostile = "\x1b]0;owned\x07[bold]title[/bold]"
    farm.story = (Probe(svn=311848, value=None, suspects=(), failure=hostile),)
    farm.story += farm.story[:1] * 3
    _, _, seen = in_a_terminal(*RANGE, "--farm", farm.url, "--poll", "0.3s")
    assert "\x1b]" not in seen
    assert seen.count("[bold]title[/bold]") > 2  # the two ends, then the table of probes
