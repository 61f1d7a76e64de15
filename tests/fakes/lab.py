"""A lab in a directory of its own, used through the lab worker's real command."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from buildbot_bench.core.wire import Event, Measured, parse_event, parse_events
from buildbot_bench.lab.files import is_locked
from tests.running import ran

PATIENCE_S = 60.0
SERIES = {
    "dut": "APU2",
    "label": "test",
    "workload": "forwarding",
    "points": [{"revision": "r100", "pps": [1000, 1010, 990]}, {"revision": "r200", "pps": [500]}],
}


class Lab:
    """A replay testbed whose boots take `delay_s`, a second one beside it, and their state."""

    def __init__(self, root: Path, *, delay_s: float = 0.0, wait_s: float = 60.0) -> None:
        self.root = root
        self.state = root / "state"
        self.testbeds = root / "testbeds.toml"
        (root / "series.jsonl").write_text(json.dumps(SERIES), encoding="utf-8")
        common = f'driver = "replay"\nseries = "series.jsonl"\ndelay_s = {delay_s}\n'
        common += f'epoch = "e1"\nwait_s = {wait_s}\nretry_pause_s = 0.01\n'
        self.testbeds.write_text(
            f"[testbeds.first]\n{common}[testbeds.second]\n{common}"
            '[testbeds.embedded]\ndriver = "embedded"\nduration_s = 0.1\nretry_pause_s = 0.01\n',
            encoding="utf-8",
        )
        self.kernel = self.artefact("r100\n")

    def artefact(self, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = self.root / f"artefact-{hashlib.sha256(data).hexdigest()[:8]}"
        path.write_bytes(data)
        return path

    def command(self, *arguments: str) -> list[str]:
        places = [f"--testbeds={self.testbeds}", f"--state={self.state}"]
        return [sys.executable, "-m", "buildbot_bench.lab.cli", *arguments, *places]

    def run_command(
        self,
        job: str,
        *,
        iterations: int = 3,
        testbed: str = "first",
        artefact: Path | None = None,
        digest: str | None = None,
    ) -> list[str]:
        kernel = artefact or self.kernel
        sha = digest or hashlib.sha256(kernel.read_bytes()).hexdigest()
        return self.command(
            "run",
            f"--testbed={testbed}",
            f"--artefact={kernel}",
            f"--digest={sha}",
            "--workload=forwarding",
            f"--iterations={iterations}",
            f"--job={job}",
        )

    def do(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return ran(command, timeout=PATIENCE_S)

    def start(self, command: Sequence[str], stdout: int | IO[str] = subprocess.PIPE) -> Popen:
        return subprocess.Popen(
            command,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            # Whoever runs the tests in the background hands SIGINT on ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )

    def events(self, job: str) -> list[Event]:
        path = self.state / "jobs" / job / "events.jsonl"
        if not path.exists():
            return []
        whole = path.read_text(encoding="ascii").rpartition("\n")[0]
        return [parse_event(line) for line in whole.splitlines()]

    def measured(self, job: str) -> list[Measured]:
        return [event for event in self.events(job) if isinstance(event, Measured)]

    def is_quiet(self, job: str) -> bool:
        """Whether no runner is left of a job."""
        return not is_locked(self.state / "jobs" / job / "runner.lock")

    def runner_pid(self, job: str) -> int:
        note = (self.state / "jobs" / job / "runner.json").read_text(encoding="utf-8")
        return int(json.loads(note)["pid"])


Popen = subprocess.Popen[str]


def events_of(stdout: str) -> list[Event]:
    return list(parse_events(stdout.splitlines()))


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until something is the case; the patience is for a slow machine, not for the code."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, "it did not come about"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = ran(["ps", "-o", "stat=", "-p", str(pid)])
    return state.stdout.strip()[:1] not in {"", "Z"}


def bearing(mark: str) -> Iterator[str]:
    """The numbers of the other processes that bear a word."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if mark.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                yield path.parent.name
