"""The tutorial of an hour, typed whole into shells in an empty home, finds its commit.

A small tree in FreeBSD's shape answers where the page clones FreeBSD, and the farm listens on ports
of its own. All else is as the page has it.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.replay_farm import end_processes_in
from tests.fakes.freebsd_forwarder import make_forwarder
from tests.fakes.vm_kernels import need_machine
from tests.ports import free_port
from tests.readme import CHECKOUT, FOLLOWED_WITH_A_MACHINE, RUN_BLOCKS, on

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

START_S, SHELL_S = 120.0, 600.0
URL = "https://git.FreeBSD.org/src.git"
PAGE = on(FOLLOWED_WITH_A_MACHINE)
TYPED = [command for block in RUN_BLOCKS if block in PAGE for command in block.commands]


def clone(tmp_path: Path) -> Path:
    """A clone of the project after `make .venv/ready`, of links."""
    place = tmp_path / "clone"
    (place / ".venv").mkdir(parents=True)
    for path in CHECKOUT.iterdir():
        if path.name not in {".venv", ".git"}:
            (place / path.name).symlink_to(path)
    (place / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (place / ".venv" / "ready").touch()
    return place


def home(tmp_path: Path) -> Path:
    """A home whose git fetches the small tree where FreeBSD's is asked for."""
    tree = make_forwarder(tmp_path / "upstream")
    place = tmp_path / "home"
    place.mkdir()
    (place / ".gitconfig").write_text(f'[url "file://{tree}"]\n\tinsteadOf = {URL}\n')
    return place


def typed(commands: list[str], place: Path, environment: dict[str, str]) -> str:
    """What a terminal shows of commands that a reader types one after the other."""
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(commands)],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SHELL_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_an_hour_leads_a_stranger_to_the_commit(tmp_path: Path) -> None:
    need_machine()
    place, port = clone(tmp_path.resolve()), free_port()
    environment = {
        "BENCH_FARM": f"http://localhost:{port}/",
        "HOME": str(home(tmp_path.resolve())),
        "LANG": "C.UTF-8",
        "PATH": os.environ["PATH"],
    }
    (at,) = [number for number, one in enumerate(TYPED) if "bench-farm run" in one]
    before, start, questions = TYPED[:at], TYPED[at], TYPED[at + 1 :]
    shown = typed(before, place, environment)
    assert "missing" not in shown
    assert "+\tip = mtod(m, struct ip *); if (ip->ip_hl == 5" in shown
    log = tmp_path / "farm.log"
    with log.open("wb") as output:
        farm = subprocess.Popen(
            ["sh", "-c", f"exec {start} --port={port} --pb-port={free_port()}"],
            cwd=place,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        await_farm(farm, log)
        asked, found = [typed([one], place, environment) for one in questions]
    finally:
        farm.send_signal(signal.SIGINT)
        farm.wait(120)
        end_processes_in(tmp_path.resolve())
    assert "8 commits" in asked
    (told,) = [block.text for block in PAGE if block.language == "text"]
    assert told in found
    assert re.search(r"execute 1[345]\.\d % more instructions per packet", " ".join(found.split()))


def test_what_the_page_does_not_have_typed_says_why() -> None:
    left = [one for one in PAGE if one.language == "console" and one not in RUN_BLOCKS]
    assert [one.commands[0].split()[0] for one in left] == ["apt-get", "git"]


def await_farm(farm: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + START_S
    while "stops it" not in log.read_text():
        assert farm.poll() is None, log.read_text()
        assert time.monotonic() < end_s, log.read_text()
        time.sleep(0.1)
