"""The process beside a master that ends the master when its heartbeat on standard input stops."""

import os
import select
import signal
import sys
from pathlib import Path

# For the stacks of all threads to be written; a process that the disk holds up takes longer.
GRACE_S = 10.0
_MOST_BYTES = 4096


def main(arguments: list[str]) -> int:
    """Watch the master of this number for a silence, in seconds, and note it in this file.

    A byte is a beat; the end of standard input is that of the master. The status is 1 if the
    watcher ended the master.
    """
    pid, silent_s, file = int(arguments[0]), float(arguments[1]), Path(arguments[2])
    # A terminal tells both to all processes of a master.
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while _hears(silent_s):
        if not os.read(0, _MOST_BYTES):
            return 0
    if os.getppid() != pid:
        return 0  # the number may be another process's by now
    end(pid, silent_s, file)
    return 1


def end(pid: int, silent_s: float, file: Path) -> None:
    """Have the master write the stacks of its threads into the file and end, or else kill it."""
    with file.open("a", encoding="utf-8") as told:
        told.write(f"did not answer for {silent_s:g} s\n")
    os.kill(pid, signal.SIGABRT)
    os.kill(pid, signal.SIGCONT)  # one that was stopped hears of nothing before
    while _hears(GRACE_S):
        if not os.read(0, _MOST_BYTES):
            return
    os.kill(pid, signal.SIGKILL)


def _hears(seconds: float) -> bool:
    return bool(select.select([0], [], [], seconds)[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
