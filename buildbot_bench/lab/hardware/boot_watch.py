"""The progress of a reboot, judged from looks at the machine and from its console.

    off ──▶ loader ──▶ booted(kernel) ──▶ ready
             │            ├── another kernel: fell back
             └── nothing  └── again and again: a boot loop

A reboot counts only when another boot was seen: a machine that takes its time to go down still
answers, on its old boot.
"""

from __future__ import annotations

import re
from enum import StrEnum

from buildbot_bench.lab.hardware.alive import Alive

_PANIC = re.compile(r"^(panic: .*|Fatal trap .*|.*\bdouble fault\b.*)$", re.MULTILINE)
_DEBUGGER = re.compile(r"^(db> ?|KDB: enter: .*)", re.MULTILINE)
_BANNER = re.compile(r"^Copyright \(c\) 1992-\d{4} The FreeBSD Project", re.MULTILINE)
_MOST_BOOTS = 3  # banners of one reboot: kernels that panic and start again


class BootProgress(StrEnum):
    """What can be said of a reboot now."""

    LEAVING = "is still on its old boot"
    LOADER = "does not answer"
    ARRIVED = "runs the kernel"
    FELL_BACK = "fell back to another kernel"
    LOOPS = "boots over and over"


class BootWatch:
    """One reboot, from the order to its outcome. ARRIVED, FELL_BACK and LOOPS are outcomes."""

    def __init__(self, before: Alive | None, wanted: str) -> None:
        self._boots: list[Alive] = [] if before is None else [before]
        self._known = len(self._boots)
        self._wanted = wanted

    def saw(self, alive: Alive | None) -> BootProgress:
        """Take one look at the machine; None is that it did not answer."""
        if alive is None:
            return BootProgress.LOADER
        if self._boots and self._boots[-1].same_boot(alive):
            return BootProgress.LEAVING if len(self._boots) == self._known else self._now(alive)
        self._boots.append(alive)
        return self._now(alive)

    def _now(self, alive: Alive) -> BootProgress:
        if len(self._boots) - self._known >= _MOST_BOOTS:
            return BootProgress.LOOPS
        return BootProgress.ARRIVED if alive.bootfile == self._wanted else BootProgress.FELL_BACK


def panic_in(console: str) -> str:
    """The line by which a kernel said that it panicked; empty when it did not."""
    found = _PANIC.search(console)
    return found[1].strip()[:200] if found else ""


def in_debugger(console: str) -> bool:
    """Whether the kernel waits at its debugger's prompt: no waiting will bring it back."""
    return _DEBUGGER.search(console) is not None


def boots_in(console: str) -> int:
    """How often a kernel began to boot."""
    return len(_BANNER.findall(console))


def loops(console: str) -> bool:
    """Whether a console shows a boot loop."""
    return boots_in(console) >= _MOST_BOOTS
