"""A process that outlives its caller, the terminal and every pipe."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


def detach(work: Callable[[], None], *, keep: int, log: Path) -> None:
    """Do `work` in a process that leads a session's process group and has no parent but init.

    `keep` is a descriptor that the process inherits, all others are closed: a pipe that somebody
    reads to its end must not be held open by us. What the process writes goes to `log`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)  # the process is an orphan now: init reaps it, not our caller
        _become_daemon(work, keep, log)
    os.waitpid(child, 0)


def _become_daemon(work: Callable[[], None], keep: int, log: Path) -> NoReturn:
    status = 1
    try:
        os.setpgid(0, 0)
        _redirect(log)
        os.closerange(3, keep)
        os.closerange(max(3, keep + 1), os.sysconf("SC_OPEN_MAX"))
        work()
        status = 0
    except Exception:  # noqa: BLE001 - nobody is above us to hear of it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _redirect(log: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(null, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
