"""What the clocks of processes resolve on this machine, and whether a value's step is too coarse.

Processor time, user and system together, is counted exactly: Linux adds up nanoseconds, FreeBSD
cycles, and both report microseconds. Its parts are not: each is the share of the clock's ticks that
found the process there (`cputime_adjust` in Linux, `calcru1` in FreeBSD).
"""

from __future__ import annotations

import os
import sys
import time

from buildbot_bench.core.figures import threshold
from buildbot_bench.core.run_times import RunTimes, is_coarse, least_value
from buildbot_bench.lab.command.settings import CPU, TIMES, USER, WALL, CommandWorkload

_MICROSECOND = 1e-6  # of struct timeval, in which wait4(2) reports times
_COARSE_CLOCK = 6  # CLOCK_MONOTONIC_COARSE of linux/time.h: it goes on at each tick
_FREEBSD_TICKS = 127  # a second: `stathz` of kern.clockrate, with the usual hz
_ROUNDED = 1e-9


def tick_s() -> float:
    """Return the time between two ticks, by which user and system time are separated."""
    if sys.platform == "linux":
        return time.clock_getres(_COARSE_CLOCK)
    if sys.platform.startswith("freebsd"):
        return 1 / _FREEBSD_TICKS
    return 1 / os.sysconf("SC_CLK_TCK")


def step_s(value: str, cpu_s: float) -> float:
    """Return the step of a time as a value, by the processor time of a run.

    A kernel that counts processor time by ticks reports whole ones.
    """
    if value == WALL:
        return time.get_clock_info("monotonic").resolution
    tick = tick_s()
    if value == CPU and abs(cpu_s - round(cpu_s / tick) * tick) > _ROUNDED:
        return _MICROSECOND
    return tick


def coarse_beforehand(workload: CommandWorkload, min_effect: float) -> str:
    """Return what is to be said of a value before anything was run; empty if nothing is."""
    if workload.value != USER:
        return ""
    tick = tick_s()
    return (
        f"`user` has steps of {_seconds(tick)} here: a change of {threshold(min_effect)} "
        f"is seen in a run of {_seconds(least_value(tick, min_effect))} or more; "
        f"measure `cpu`, which is exact, or count `instructions`"
    )


def coarse(workload: CommandWorkload, value: float, times: RunTimes, min_effect: float) -> str:
    """Return what is to be said of a value that a run gave, if its step is coarse; else nothing."""
    if not is_coarse(value, times.step, min_effect):
        return ""
    share = threshold(round(times.step / value, 3))
    least = least_value(times.step, min_effect)
    if workload.value in TIMES:
        step, run = _seconds(times.step), _seconds(value)
        least_s = _seconds(least * times.executions)
        next_step = f"have the run take {least_s} or more"
        if workload.value == USER:
            next_step = f"measure `cpu`, which is exact, {next_step}, or count `instructions`"
    else:
        step, run = f"{times.step:g}", f"{value:g}"
        next_step = "have it printed with more digits, or measure `cpu`"
    return (
        f"the value has steps of {step}, which is {share} of {run}: too coarse for a "
        f"change of {threshold(min_effect)}; {next_step}"
    )


def _seconds(time_s: float) -> str:
    return f"{1000 * time_s:.3g} ms" if time_s < 1 else f"{time_s:.3g} s"
