"""The check-up of FreeBSD's boot: compiler, loader, and a kernel that checks the loader."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.drivers.toolchain import compiler
from buildbot_bench.lab.virtual.console import last_words
from buildbot_bench.lab.virtual.freebsd.handing import Handed, handing
from buildbot_bench.lab.virtual.freebsd.programs import checker, programs
from buildbot_bench.lab.virtual.machine import VirtualMachine
from buildbot_bench.lab.virtual.settings import PPS, QemuSettings

_CHECK_S = 30.0  # a second, where nothing else runs
_DONE, _WRONG = "checked", "WRONG"


def check_loader(settings: QemuSettings, home: Path) -> list[CheckFinding]:
    """Compile what is needed, and have the loader boot a kernel that checks what it is handed."""
    cc = compiler()
    if cc is None:
        remedy = "apt-get install gcc, or name a compiler by CC"
        return [CheckFinding(subject="compiler", detail="there is no C compiler", remedy=remedy)]
    findings = [CheckFinding(subject="compiler", detail=cc)]
    try:
        said = _boot_checker(settings, home)
    except BenchError as error:
        remedy = error.hint or "use a compiler that makes programs for x86, by -m32 and by -m64"
        return [*findings, CheckFinding(subject="loader", detail=error.message, remedy=remedy)]
    if _DONE in said and _WRONG not in said:
        detail = "a kernel that it booted checked what it was handed"
        return [*findings, CheckFinding(subject="loader", detail=detail)]
    detail = f"a kernel that it booted is not content: {last_words(said)}"
    remedy = f"see {home / 'logs' / 'console.out'}"
    return [*findings, CheckFinding(subject="loader", detail=detail, remedy=remedy)]


def _boot_checker(settings: QemuSettings, home: Path) -> str:
    """What the checking kernel said until it reset the machine, or until its time was over."""
    loader, kernel = programs(home).loader, checker(home)
    handed = [Handed(kernel, "kernel", "/boot/kernel/kernel")]
    quick = replace(settings, metric=PPS, accelerator="tcg", boot_timeout_s=_CHECK_S)
    machine = VirtualMachine(quick, handing(loader, handed, home), home)
    try:
        machine.ends_within(_CHECK_S)
        return machine.console()
    finally:
        machine.power_off()
