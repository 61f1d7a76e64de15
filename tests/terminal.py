"""A command run with a terminal as its standard error."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path

_DEADLINE_S = 120.0


def in_a_terminal(
    command: Sequence[str], *, cwd: Path | None = None, interrupt_at: bytes | None = None
) -> tuple[int, str, str]:
    """The status, what standard output got, and what the terminal got."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environ, cwd=cwd)
    os.close(slave)
    seen, interrupted, deadline_s = b"", False, time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline_s:
        try:
            seen += os.read(master, 65536)
        except OSError:  # Linux's end of file on a terminal whose other side is closed
            break
        if interrupt_at and interrupt_at in seen and not interrupted:
            interrupted = True
            process.send_signal(signal.SIGINT)
    os.close(master)
    out, _ = process.communicate(timeout=_DEADLINE_S)
    return process.returncode, out.decode(), seen.decode()
