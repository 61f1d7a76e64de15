"""Facts and findings on the machine that runs commands."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.item import COMMAND_FACT
from buildbot_bench.core.limits import spoken
from buildbot_bench.lab.command.clocks import tick_s
from buildbot_bench.lab.command.counting import find_counter
from buildbot_bench.lab.command.process import RESERVE_BYTES
from buildbot_bench.lab.command.settings import INSTRUCTIONS, USER, CommandWorkload, words_of
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
