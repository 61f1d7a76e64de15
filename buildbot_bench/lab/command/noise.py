"""What makes runs vary on this machine, as far as it shows, and the line that ends it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.lab.command.machine import governors

_CPU = Path("/sys/devices/system/cpu")
_STAT = Path("/proc/stat")
_STEAL = 7  # of the numbers behind `cpu` in /proc/stat (proc(5)): ticks that a neighbour took
_MUCH_STEAL = 0.01
_MUCH_LOAD = 0.5  # of the processors, beside the run itself


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseCause:
    """What makes runs vary on this machine, and the line that ends it."""

    what: str
    remedy: str


def ticks() -> tuple[int, int]:
    """Ticks of all processors by now, and those of them that a neighbour took (Linux)."""
    try:
        words = _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:]
        numbers = [int(word) for word in words[: _STEAL + 1]]
    except (OSError, ValueError, IndexError):
        return 0, 0
    return sum(numbers), numbers[_STEAL] if len(numbers) > _STEAL else 0


def noise_causes(before: tuple[int, int]) -> Iterator[NoiseCause]:
    """Return what this machine shows of the usual causes of noise, since it had `before` ticks."""
    if unsteady := ", ".join(sorted(governors() - {"performance"})):
        yield NoiseCause(
            what=f"the governor {unsteady} changes the processors' frequency",
            remedy="cpupower frequency-set --governor performance",
        )
    if _reads("intel_pstate/no_turbo") == "0":
        yield NoiseCause(
            what="turbo makes a processor the faster the cooler it is",
            remedy=f"echo 1 > {_CPU}/intel_pstate/no_turbo",
        )
    elif _reads("cpufreq/boost") == "1":
        yield NoiseCause(
            what="boost makes a processor the faster the cooler it is",
            remedy=f"echo 0 > {_CPU}/cpufreq/boost",
        )
    if _reads("smt/active") == "1":
        yield NoiseCause(
            what="two hyper-threads share a core",
            remedy=f"echo off > {_CPU}/smt/control, or --cpus with one of each core",
        )
    all_ticks, stolen = (now - then for now, then in zip(ticks(), before, strict=True))
    if all_ticks and stolen / all_ticks > _MUCH_STEAL:
        yield NoiseCause(
            what=f"other virtual machines took {stolen / all_ticks:.0%} of the time",
            remedy="measure `cpu` or `instructions`, or take a machine of your own",
        )
    others = os.getloadavg()[0] - 1
    if others > _MUCH_LOAD * (os.cpu_count() or 1):
        yield NoiseCause(
            what=f"some {others:.0f} other processes run here",
            remedy="end them, or pin the run to a processor that they leave: --cpus",
        )


def _reads(name: str) -> str:
    try:
        return (_CPU / name).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
