"""The progress of a reboot, judged from looks at the machine and from its console.

off ──▶ loader ──▶ booted(kernel) ──▶ ready
         │            ├── another kernel: fell back
         └── nothing  └── again and again: a boot loop
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

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


# kern.boottime alone tells boots apart badly: it moves with each step of the clock, and a board
# without a clock begins with the same one at each boot. The time of day less kern.boottime is the
# uptime, since a step moves both alike.
_BOOTTIME = re.compile(r"\bsec = (-?\d{1,15}), usec = (\d{1,6})\b", re.ASCII)
# sbin/sysctl/sysctl.c prints what it has no format for in hexadecimal, when it is given -x.
_BOOT_ID = re.compile(r"\bDump:0x([0-9a-f]{32})\b")
_NOW = re.compile(r"-?\d{1,15}", re.ASCII)
# date(1) cuts the time of day off at a second.
_CUT_OFF_S = 1.0
# Without the time of day, kern.boottime must do; its clock is set by less, one hopes.
_CLOCK_SET_S = 2
# What a look leaves open of its own: a machine's first answer may wait for a processor.
_SLACK_S = 1.0
# Two clocks gain or lose against each other: ntpd(8) corrects 500 ppm, a bad crystal needs more.
_DRIFT = 1e-3


def alive_script(runs: str) -> str:
    """What to have sh(1) run for `parse_alive`; `runs` is a command that prints what runs."""
    return (
        'echo "id $(sysctl -nx kern.boot_id 2>/dev/null)"; echo "now $(date +%s)"; '
        f'echo "boottime $(sysctl -n kern.boottime)"; echo "runs $({runs})"'
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Alive:
    """A machine that answers: when it was booted (Unix time, by its clock), and what runs.

    `boot_id` is what the kernel itself tells its boots apart by, empty where there is none, as
    before FreeBSD 13 and until the random device is seeded. By the lab controller's clock that
    nobody sets, the boot began at `began_s`, give or take `unsure_s`, as was seen at `seen_s`.
    """

    boot_s: int
    bootfile: str
    boot_id: str = ""
    began_s: float | None = None
    unsure_s: float = 0.0
    seen_s: float = 0.0

    @property
    def up_s(self) -> float | None:
        """For how many seconds it ran when it was seen; None where no clock says."""
        up_s = 0.0 if self.began_s is None else self.seen_s - self.began_s
        return up_s if up_s > 0 else None

    def same_boot(self, other: Alive) -> bool:
        """Whether both were seen on one and the same boot."""
        if self.boot_id and other.boot_id:
            return self.boot_id == other.boot_id
        if self.began_s is None or other.began_s is None:
            return abs(self.boot_s - other.boot_s) <= _CLOCK_SET_S
        allowed_s = self.unsure_s + other.unsure_s + _SLACK_S
        allowed_s += _DRIFT * abs(self.seen_s - other.seen_s)
        return abs(self.began_s - other.began_s) <= allowed_s


def parse_alive(reply: str, asked_s: float, answered_s: float) -> Alive | None:
    """What `alive_script` printed, asked and answered at times of a clock that nobody sets.

    None when that does not say when the machine was booted.
    """
    lines = dict(line.partition(" ")[::2] for line in reply.splitlines())
    boottime = _BOOTTIME.search(lines.get("boottime", ""))
    if boottime is None:
        return None
    boot_id = _BOOT_ID.search(lines.get("id", ""))
    began_s, unsure_s = None, 0.0
    if now := _NOW.fullmatch(lines.get("now", "")):
        up_s = int(now[0]) - int(boottime[1]) - int(boottime[2]) / 1e6
        began_s = (asked_s + answered_s - _CUT_OFF_S) / 2 - up_s
        unsure_s = (answered_s - asked_s + _CUT_OFF_S) / 2
    return Alive(
        boot_s=int(boottime[1]),
        bootfile=lines.get("runs", "").strip(),
        boot_id=boot_id[1] if boot_id else "",
        began_s=began_s,
        unsure_s=unsure_s,
        seen_s=answered_s,
    )
