"""Decides whether the revision or this machine is to blame for a build that failed."""

from __future__ import annotations

import shutil
from pathlib import Path

from buildbot_bench.core.build_log import BuildLog
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.limits import spoken
from buildbot_bench.lab.command.process import RESERVE_BYTES, Ran, Stop

_SIGNAL = 128  # and its number: what a shell makes its status of
_AGAIN = "the same command goes on from here; bench-bisect's --skip steps around a revision"


def failed_build(ran: Ran, place: Path, revision: str) -> BenchError:
    """Return the error to raise for a build that did not end well in the directory `place`.

    A disk that is full, a build that somebody ended and a tool that is missing are the machine's
    (InfraError), all else is the revision's. What is missing of the tree is no tool.
    """
    free = shutil.disk_usage(place).free
    if ran.stop is Stop.FULL or free < RESERVE_BYTES:
        return _machine(ran, revision, f"{spoken(free)} are free on the disk", "make room")
    if ran.stop is Stop.TIMEOUT:
        what = f"the build had not ended after {ran.wall_s:.0f} s (see --build-timeout)"
        return UntestableRevision(f"{what}\n{ran.last_lines()}")
    if ran.stop is Stop.DISK:
        return UntestableRevision(f"the build fills the disk\n{ran.last_lines()}")
    if ran.status is None:
        return _machine(ran, revision, f"the build {ran.ending()}", "see what ended it")
    log = BuildLog()
    for output in (ran.stdout, ran.stderr):
        for line in output.text().splitlines():
            log.take(line)
    found = log.diagnosis(ran.status if ran.status >= 0 else _SIGNAL - ran.status)
    if found.is_builder_fault:
        what = f"this machine failed the build, which {ran.ending()}"
        return _machine(ran, revision, what, "fix what the last lines name, or correct --build")
    return UntestableRevision(f"the build {ran.ending()}\n{ran.last_lines()}")


def _machine(ran: Ran, revision: str, what: str, remedy: str) -> InfraError:
    return InfraError(f"{revision}: {what}\n{ran.last_lines()}", hint=f"{remedy}; {_AGAIN}")
