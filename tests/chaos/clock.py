"""A wall clock for the processes that are started with it, which tests set and stop.

libfaketime would do, but its 0.9.10 has every time.sleep() of Python 3.11 fail when it is to leave
the monotonic clock alone, and deadlocks programs of several threads that fork.
"""

import struct
import subprocess
import time
from pathlib import Path

from tests.running import ran

_SOURCE = Path(__file__).with_name("set_clock.c")
_SETTING = struct.Struct("=qq")


class WallClock:
    """Goes wrong by as many seconds as it was set by. `lacks` says why it cannot be had here."""

    def __init__(self, home: Path) -> None:
        self._library = home / "set_clock.so"
        self._setting = home / "clock"
        self._wrong_s = 0
        self._write(0)
        self.lacks = self._compile()

    @property
    def environment(self) -> dict[str, str]:
        """What has a process go by this clock; nothing where it cannot be had."""
        if self.lacks:
            return {}
        return {"LD_PRELOAD": str(self._library), "BENCH_TEST_CLOCK": str(self._setting)}

    def set(self, seconds: int) -> None:
        """Set it forward, or back."""
        self._wrong_s += seconds
        self._write(0)

    def stop(self) -> None:
        """Have it stand."""
        self._write(int(time.time()) + self._wrong_s)

    def go_on(self) -> None:
        """Have it show again what it would if it had not stood."""
        self._write(0)

    def _write(self, stands_at_s: int) -> None:
        # In place: the processes have this very file mapped.
        mode = "r+b" if self._setting.exists() else "wb"
        with self._setting.open(mode) as file:
            file.write(_SETTING.pack(self._wrong_s, stands_at_s))

    def _compile(self) -> str:
        command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(_SOURCE)]
        try:
            ran(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"there is no clock that can be set: {getattr(error, 'stderr', '') or error}"
        return ""
