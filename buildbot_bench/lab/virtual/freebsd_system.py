"""FreeBSD for amd64 as a DUT: archives booted by our loader, and the script for our init."""

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from buildbot_bench.archives.disk import make_file_system, program_at
from buildbot_bench.archives.members import DAMAGED, opened
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.freebsd_releases import NEEDS
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.drivers.child import compiler
from buildbot_bench.lab.files import check_digest, sha256
from buildbot_bench.lab.virtual.bursts import BurstTraffic
from buildbot_bench.lab.virtual.machine import VirtualMachine, last_words
from buildbot_bench.lab.virtual.settings import (
    FREEBSD,
    IPFW_COMMAND,
    PF_COMMAND,
    PPS,
    QemuSettings,
    VirtualWorkload,
    workloads_of,
)
from buildbot_bench.lab.virtual.system import (
    BootImage,
    FileKind,
    Handed,
    checker,
    handing,
    kind_of,
    programs,
)

KERNEL, DEBUG = "kernel", "kernel.debug"


def unpack(
    artefact: Path,
    digest: str,
    directory: Path,
    modules: Collection[str],
    optional: Collection[str] = (),
) -> BootImage:
    """Put an artefact's kernel and those modules into a directory, which is emptied before.

    Modules are named without `.ko`; the optional ones may be missing and nobody minds. Another
    digest, or another kind of testbed's kernel, is an InfraError.
    """
    check_digest(artefact, digest)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    kernel, debug = directory / KERNEL, directory / DEBUG
    if kind_of(artefact) is FileKind.ARCHIVE:
        wanted = {f"{module}.ko" for module in (*modules, *optional)}
        for name, content in _take_out(artefact, {KERNEL, DEBUG, *wanted}).items():
            (directory / name).write_bytes(content)
        if not kernel.exists():
            raise UntestableRevision(
                "there is no file 'kernel' in the artefact",
                hint="upload a tar file of /boot/kernel",
            )
    else:
        shutil.copyfile(artefact, kernel)
    _require_bootable(kernel)
    found = {module: directory / f"{module}.ko" for module in dict.fromkeys((*optional, *modules))}
    return BootImage(
        kernel=kernel,
        digest=sha256(kernel),
        modules={module: path for module, path in found.items() if path.exists()},
        debug=debug if debug.exists() else None,
        missing=tuple(module for module in modules if not found[module].exists()),
    )


def _take_out(artefact: Path, names: Collection[str]) -> dict[str, bytes]:
    """The files of those names, the least deep of each; one pass over the archive."""
    found: dict[str, tuple[int, bytes]] = {}
    try:
        with opened(artefact) as (_, archive):
            for member in archive:
                path = PurePosixPath(member.info.name)
                depth = len(path.parts)
                if path.name not in names or not member.info.isreg():
                    continue
                if path.name not in found or depth < found[path.name][0]:
                    found[path.name] = (depth, member.content() or b"")
    except DAMAGED as error:
        raise UntestableRevision(
            f"the artefact is no kernel archive: {error}", hint="upload a tar file of /boot/kernel"
        ) from error
    return {name: content for name, (_, content) in found.items()}


def _require_bootable(kernel: Path) -> None:
    match kind := kind_of(kernel):
        case FileKind.FREEBSD | FileKind.AMD64:
            return
        case FileKind.OTHER | FileKind.ARCHIVE:
            raise UntestableRevision("the artefact holds no kernel", hint="see `bench-build`")
    raise InfraError(
        f"the artefact is {kind}, and this testbed boots FreeBSD kernels for amd64",
        hint="send the job to another testbed, or change `system` of this one in testbeds.toml",
    )


_KERNEL_NAME = "/boot/kernel/kernel"
# loader(8), uart(4), mount(8) of the root; a panic ends the machine at once, and asks nobody.
# Keyboard and mouse, which nobody has, are half of a boot whose instructions are counted.
_KENV = {
    "kernelname": _KERNEL_NAME,
    "console": "comconsole",
    "boot_serial": "YES",
    "hint.uart.0.at": "isa",
    "hint.uart.0.port": "0x3F8",
    "hint.uart.0.irq": "4",
    "hint.uart.0.flags": "0x10",
    "hint.atkbd.0.disabled": "1",
    "hint.psm.0.disabled": "1",
    "vfs.root.mountfrom": "ufs:/dev/md0",
    "vfs.root.mountfrom.options": "ro",
    "vfs.mountroot.timeout": "1",
    "init_path": "/sbin/init",
    "kern.panic_reboot_wait_time": "0",
    "debug.debugger_on_panic": "0",
}
# While instructions are counted, few bursts should meet the clock, and all ticks should be alike:
# not more for a busy processor than for an idle one, and one for all purposes. By default there are
# 100 a second, and 127 for statistics. With fewer than 40 the drivers' waiting, in ticks, makes a
# boot long: with 10 a second it took 26 s until both em(4) had a link, with 40 10 s, with 100 6 s.
_QUIET = {
    "kern.hz": "40",
    "kern.eventtimer.periodic": "1",
    "kern.eventtimer.singlemul": "1",
}


class FreeBSD:
    """A system that is an archive; `home` is where the testbed has its files."""

    def __init__(self, settings: QemuSettings, home: Path) -> None:
        self._settings = settings
        self._home = home
        self._workloads = workloads_of(FREEBSD)

    def workloads(self) -> Mapping[str, BurstTraffic]:
        """Those that are registered: forwarding of IPv4 and of IPv6, and behind firewalls."""
        return {name: workload.traffic for name, workload in self._workloads.items()}

    def check(self) -> list[CheckFinding]:
        """That loader and init compile, and that the loader boots a kernel as it should."""
        return check_loader(self._settings, self._home)

    def facts(self) -> dict[str, str]:
        """What else the kernel is given."""
        settings = self._settings
        quiet = [f"{name}={value}" for name, value in self._quiet().items()]
        texts = {
            "kenv": (*quiet, *settings.kenv),
            "sysctls": settings.sysctls,
            "modules": settings.modules,
        }
        return {name: " ".join(text) for name, text in texts.items() if text}

    def unpack(self, artefact: Path, digest: str, directory: Path) -> BootImage:
        """Its kernel, those modules that the testbed names, and those that a workload may need."""
        modules = self._settings.modules
        wanted = [one.module for one in self._workloads.values() if one.module]
        return unpack(artefact, digest, directory, modules, tuple(wanted))

    def arguments(self, image: BootImage, workload: str, tunables: Sequence[str]) -> list[str]:
        """Our loader as QEMU's kernel, and behind it the files that it loads."""
        made = programs(self._home)
        settings = (*self._settings.sysctls, *tunables)
        asked = self._workloads[workload]
        script = commands(asked, self._settings.nic, settings)
        directory = self._home / "boot"
        tree = directory / "tree"
        (tree / "dev").mkdir(parents=True, exist_ok=True)
        files = {
            "sbin/init": (0o555, made.init_of_freebsd()),
            "etc/commands": (0o444, script.encode()),
        }
        make_file_system(tree, files, directory / "root", size_mib=1)
        (directory / "kenv").write_bytes(self._environment(tunables))
        handed = [Handed(image.kernel, "kernel", _KERNEL_NAME)]
        wanted = {*self._settings.modules, asked.module}
        for name, path in image.modules.items():
            if name not in wanted:
                continue
            handed.append(Handed(path, "module", f"/boot/kernel/{name}.ko"))
        handed.append(Handed(directory / "root", "image", "/root"))
        handed.append(Handed(directory / "kenv", "kenv"))
        return handing(made.loader, handed, self._home)

    def is_ready(self, console: str) -> bool:
        """When init says so."""
        return is_ready(console)

    def fault(self, console: str) -> str:
        """What its console says of it."""
        return fault(console)

    def suspects_testbed(self, image: BootImage) -> bool:
        """Where no FreeBSD ever forwarded, none may be able to."""
        del image
        return True

    def _quiet(self) -> dict[str, str]:
        return _QUIET if self._settings.exact else {}

    def _environment(self, tunables: Sequence[str]) -> bytes:
        """The kenv in its binary form: texts that end in a zero, and an empty one."""
        values = _KENV | self._quiet()
        values |= dict(setting.split("=", 1) for setting in (*self._settings.kenv, *tunables))
        return b"".join(f"{name}={value}\0".encode() for name, value in values.items()) + b"\0"


_CHECK_S = 30.0  # a second, where nothing else runs
_DONE, _WRONG = "checked", "WRONG"


def check_loader(settings: QemuSettings, home: Path) -> list[CheckFinding]:
    """Compile what is needed, and have the loader boot a kernel that checks what it is handed."""
    cc = compiler()
    if cc is None:
        remedy = "apt-get install gcc, or name a compiler by CC"
        return [CheckFinding(subject="compiler", detail="there is no C compiler", remedy=remedy)]
    findings = [CheckFinding(subject="compiler", detail=cc)]
    if program_at("makefs") is None:
        remedy = "apt-get install makefs; FreeBSD has it in its base"
        lack = "there is no makefs, which makes the DUT's root"
        findings.append(CheckFinding(subject="makefs", detail=lack, remedy=remedy))
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


READY = "bench: ready"
_FAILED = re.compile(r"^error: (\d+): ([^\r\n]*)", re.MULTILINE)
_UNLINKED = re.compile(r"^(KLD [^\r\n]*(?:: depends on|could not finalize)[^\r\n]*)", re.MULTILINE)
_NO_ROOT = re.compile(r"^mountroot>", re.MULTILINE)
# errno(2) of FreeBSD; the lab host may be another system.
_REASONS = {
    1: "that is not permitted while it runs",
    2: "there is no such name",
    6: "there is no such interface: the kernel lacks its driver",
    22: "that is no value for it",
    43: "there is no such protocol",
    47: "there is no such protocol",
    60: "it takes too long",
    78: "there is no such system call",
}
# The same of the firewalls' own commands; any other number is one of these.
_NO_FIREWALL = dict.fromkeys((2, 42), "neither kernel nor artefact have that firewall")
_NEWER_FIREWALL = "its interface is another one than FreeBSD 13's, which alone is known here"


def commands(workload: VirtualWorkload, nic: str, settings: Sequence[str]) -> str:
    """The script for a workload: addresses, a route to the receiver, and what else is to be set.

    The DUT's ports are the network driver's first two; `settings` are NAME=VALUE.
    """
    ports = (f"{nic}0", f"{nic}1")
    lines = ["-sysctl kern.build_id", *workload.commands(*ports)]
    lines += [f"{command} {port}" for command in ("up", "link") for port in ports]
    lines += [f"sysctl {setting}" for setting in settings]
    # Once more, as the kernel's own words may have come among the first.
    lines += ["-sysctl kern.build_id", f"say {READY}"]
    return "".join(f"{line}\n" for line in lines)


def is_ready(console: str) -> bool:
    """Whether init did all it was asked to do."""
    return READY in console


def fault(console: str) -> str:
    """What keeps a kernel from being ready, for ever, in a clause; empty when nothing does."""
    if _NO_ROOT.search(console):
        return (
            "finds no root: it lacks `device md` or `options FFS`, which MINIMAL has no more since "
            f"{NEEDS['ffs'].since}"
        )
    if unlinked := _UNLINKED.search(console):
        return f"could not load a module: {unlinked[1]}"
    if failed := _FAILED.search(console):
        return f"could not do `{failed[2]}` ({_reason(int(failed[1]), failed[2])})"
    return ""


def _reason(number: int, line: str) -> str:
    """What an errno(2) of FreeBSD means for a command."""
    if line in (IPFW_COMMAND, PF_COMMAND):
        return _NO_FIREWALL.get(number, _NEWER_FIREWALL)
    return _REASONS.get(number, f"errno {number} of FreeBSD")
