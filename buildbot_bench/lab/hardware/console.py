"""The output of the DUT's serial console since a boot began."""

import subprocess
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.settings import ConsoleSettings

_LIMIT = 64 * 1024  # bytes of what was said last


class Console:
    """Reads a command's output or a growing file; without either it reads nothing."""

    def __init__(self, settings: ConsoleSettings, log: Path) -> None:
        self._settings = settings
        self._log = log
        self._offset = 0
        self._marked = 0
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        """Forget what was said so far."""
        self.end()
        self._marked = 0
        if self._settings.command:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("wb") as file:
                try:
                    self._process = subprocess.Popen(  # noqa: S603 - a list, no shell
                        list(self._settings.command),
                        stdin=subprocess.DEVNULL,
                        stdout=file,
                        stderr=subprocess.STDOUT,
                    )
                except OSError as error:
                    raise InfraError(f"cannot read the console: {error}") from error
            self._offset = 0
        elif self._settings.file is not None:
            self._offset = self._settings.file.stat().st_size if self._settings.file.exists() else 0

    def mark(self) -> None:
        """Let `recent` begin here."""
        self._marked = len(self._said())

    def recent(self) -> str:
        """What was said since `mark`."""
        return _readable(self._said()[self._marked :])

    def text(self) -> str:
        """What was said since `begin`, the end of it if it is long."""
        return _readable(self._said())

    def _said(self) -> bytes:
        path = self._log if self._settings.command else self._settings.file
        if path is None or not path.exists():
            return b""
        with path.open("rb") as file:
            file.seek(self._offset if path.stat().st_size >= self._offset else 0)
            return file.read()

    def end(self) -> None:
        """Stop the console's command; what it said stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _readable(said: bytes) -> str:
    return said[-_LIMIT:].decode("utf-8", errors="replace").replace("\r", "")
