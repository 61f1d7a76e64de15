"""A program that runs on another host beside our work, and is certain to end."""

import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.remote import Remote

_SCRIPT = 'echo "pid $$"; exec timeout -k 5 "$0" "$@" 2>&1'
_PID = re.compile(r"pid (\d+)\n")
_POLL_S = 0.05  # between two looks at a process
_STOP_S = 10.0  # that a process has for each of TERM and KILL


class RemoteProcess:
    """A running program; its stdout and stderr go to one local file, which is its log."""

    def __init__(
        self, remote: Remote, command: Sequence[str], log: Path, *, lifetime_s: float
    ) -> None:
        self.command = list(command)
        self.remote = remote
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        words = ["sh", "-c", _SCRIPT, str(max(1, round(lifetime_s))), *command]
        with log.open("wb") as file:
            try:
                self._ssh = subprocess.Popen(  # noqa: S603 - a list; the remote words are quoted
                    remote.argv(words),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            except OSError as error:
                raise InfraError(f"cannot run ssh: {error}", hint="install OpenSSH") from error

    def log(self) -> str:
        """What it printed so far, under the line by which the archive's logs begin."""
        printed = _PID.sub("", self._printed(), count=1)
        return f"CMD on {self.remote.address}: {' '.join(self.command)}\n{printed}"

    def ended(self) -> bool:
        """Whether it is over, or ssh lost it."""
        return self._ssh.poll() is not None

    def status(self) -> int | None:
        """How it ended; 255 when ssh lost it, 124 when its time was over, None as it runs."""
        return self._ssh.poll()

    def wait_until(self, condition: Callable[[], bool], deadline_s: float) -> bool:
        """Wait for a condition; returns whether it came about before the end of either."""
        end_s = time.monotonic() + deadline_s
        while time.monotonic() < end_s:
            over = self.ended()
            if condition():
                return True
            if over:
                return False
            time.sleep(_POLL_S)
        return False

    def stop(self) -> None:
        """End it. A second call does nothing."""
        if self.ended():
            return
        try:
            if match := _PID.search(self._printed()):
                for name in ("TERM", "KILL"):
                    self.remote.run("kill", f"-{name}", match[1])
                    if self.wait_until(self.ended, _STOP_S):
                        return
        finally:
            self._ssh.kill()
            self._ssh.wait()
        raise InfraError(f"{self.remote.address}: {self.command[0]} does not end when it is killed")

    def _printed(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")
