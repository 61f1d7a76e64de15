"""Facts and findings on the machine that runs commands, with what its clocks resolve."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.figures import threshold
from buildbot_bench.core.item import COMMAND_FACT
from buildbot_bench.core.limits import spoken
from buildbot_bench.core.run_times import RunTimes, is_coarse, least_value
from buildbot_bench.lab.command.counting import find_counter
from buildbot_bench.lab.command.process import RESERVE_BYTES
from buildbot_bench.lab.command.settings import (
    CPU,
    INSTRUCTIONS,
    TIMES,
    USER,
    WALL,
    CommandWorkload,
    words_of,
)
from buildbot_bench.lab.driver import CheckFinding

_CPUS = Path("/sys/devices/system/cpu")
_STEADY = {"performance"}


def machine_facts(workload: CommandWorkload | None) -> dict[str, str]:
    """The machine, its governor, and how a workload's command is run there."""
    facts = {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "processors": str(os.cpu_count() or 1),
        "governor": ", ".join(sorted(governors())) or "not known",
    }
    if workload is None:
        return facts
    facts[COMMAND_FACT] = " ".join(words_of(workload.run, shell=workload.shell))
    if workload.cpus:
        facts["pinned to processors"] = ", ".join(map(str, workload.cpus))
    if workload.warm_up:
        facts["warm-up runs"] = str(workload.warm_up)
    return facts


def governors() -> set[str]:
    """What sets the processors' frequencies (Linux, cpufreq); empty where that is not reported."""
    found = set()
    for path in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor"):
        try:
            found.add(path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            continue
    return found


def look_at_machine(home: Path) -> Iterator[CheckFinding]:
    """What all workloads need: a steady clock of the processor, room, a way to end orphans."""
    unsteady = governors() - _STEADY
    yield CheckFinding(
        subject="governor",
        detail=", ".join(sorted(governors())) or "this machine reports none",
        remedy="cpupower frequency-set --governor performance" if unsteady else None,
    )
    home.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home).free
    yield CheckFinding(
        subject="disk",
        detail=f"{spoken(free)} are free",
        remedy=None if free >= RESERVE_BYTES else f"make room: {spoken(RESERVE_BYTES)} are needed",
    )
    linux = sys.platform == "linux"
    yield CheckFinding(
        subject="what a command leaves behind",
        detail="all that descends from it is ended" if linux else "its process group is ended",
    )


def look_at_workload(name: str, workload: CommandWorkload) -> Iterator[CheckFinding]:
    """What a workload needs: programs that are not in the artefact, processors, a counter."""
    commands = (workload.prepare, workload.boot, workload.ready, workload.run, workload.cleanup)
    for command in commands:
        if command is None:
            continue
        program = words_of(command, shell=workload.shell)[0]
        if os.sep in program and not Path(program).is_absolute():
            continue  # it is in the artefact
        found = shutil.which(program)
        yield CheckFinding(
            subject=f"{name}: {program}",
            detail=found or "not there",
            remedy=None if found else "install it, or put it on the PATH of the worker",
        )
    if workload.cpus:
        yield _processors(name, workload)
    if workload.value == USER:
        detail = f"has steps of {1000 * tick_s():.3g} ms"
        remedy = 'write value = "cpu", which is exact'
        yield CheckFinding(subject=f"{name}: user", detail=detail, remedy=remedy)
    if workload.value == INSTRUCTIONS:
        try:
            counter = find_counter(workload.counter)
            yield CheckFinding(subject=f"{name}: instructions", detail=f"counted by {counter}")
        except BenchError as error:
            yield CheckFinding(
                subject=f"{name}: instructions", detail=error.message, remedy=error.hint
            )


def _processors(name: str, workload: CommandWorkload) -> CheckFinding:
    listed = ", ".join(map(str, workload.cpus))
    if not hasattr(os, "sched_getaffinity"):
        remedy: str | None = "remove `cpus`: this system cannot pin a process"
    elif missing := set(workload.cpus) - os.sched_getaffinity(0):
        remedy = f"there is no processor {', '.join(map(str, sorted(missing)))} for us: see `cpus`"
    else:
        remedy = None
    return CheckFinding(subject=f"{name}: processors", detail=listed, remedy=remedy)


# Processor time, user and system together, is counted exactly: Linux adds up nanoseconds, FreeBSD
# cycles, and both report microseconds. Its parts are not: each is the share of the clock's ticks
# that found the process there (`cputime_adjust` in Linux, `calcru1` in FreeBSD).
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
