"""The machine that runs commands: facts, what makes runs vary, what clocks and counters resolve."""

import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.figures import threshold
from buildbot_bench.core.item import COMMAND_FACT
from buildbot_bench.core.limits import spoken
from buildbot_bench.core.metric import RunTimes, is_coarse, least_value
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
from buildbot_bench.programs import answer_of

PERF, VALGRIND = "perf", "valgrind"
_PERF = ("perf", "stat", "-x,", "-e", "instructions:u")
_COUNTED = re.compile(r"^(\d+),[^,]*,instructions:u\b", re.MULTILINE)
_TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


def find_counter(wanted: str = "") -> str:
    """What counts instructions here: `wanted`, or the first that works."""
    if wanted in {"", PERF} and _perf_counts():
        return PERF
    if wanted in {"", VALGRIND} and shutil.which("valgrind"):
        return VALGRIND
    what = wanted or "neither perf nor valgrind"
    raise InfraError(
        f"{what} cannot count instructions on this machine" if wanted else f"{what} works here",
        hint="install valgrind, or let perf count: sysctl kernel.perf_event_paranoid=2",
    )


def counting(counter: str, words: Sequence[str], scratch: Path) -> tuple[str, ...]:
    """The command by way of what counts its instructions, children included."""
    if counter == PERF:
        return (*_PERF, "-o", str(scratch / "perf.csv"), "--", *words)
    return (
        "valgrind",
        "--tool=callgrind",
        "--quiet",
        "--trace-children=yes",
        f"--callgrind-out-file={scratch / 'callgrind.%p'}",
        f"--log-file={scratch / 'valgrind.%p'}",
        *words,
    )


def counted(counter: str, scratch: Path) -> float:
    """How many instructions were counted."""
    if counter == PERF:
        path = scratch / "perf.csv"
        text = path.read_text(errors="replace") if path.exists() else ""
        if match := _COUNTED.search(text):
            return float(match[1])
        raise InfraError(
            f"perf counted no instructions: {text.strip()[-200:]}",
            hint='write counter = "valgrind"',
        )
    totals = [
        max((int(count) for count in _TOTALS.findall(path.read_text(errors="replace"))), default=0)
        for path in scratch.glob("callgrind.*")
    ]
    if not sum(totals):
        raise UntestableRevision("valgrind counted no instructions of it")
    return float(sum(totals))


def _perf_counts() -> bool:
    try:
        done = answer_of([*_PERF, "--", "true"])
    except InfraError:
        return False
    return done.returncode == 0 and _COUNTED.search(done.stderr) is not None


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
