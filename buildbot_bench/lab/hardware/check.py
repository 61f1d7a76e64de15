"""The check-ups of a hardware testbed: its settings, then its machines; none is rebooted."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from buildbot_bench.core.errors import BenchError, InfraError, UsageError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.hardware.config_set import LyingSet, is_empty, parts_of
from buildbot_bench.lab.hardware.latency import VALECTL
from buildbot_bench.lab.hardware.life import has_environment, require_gpt
from buildbot_bench.lab.hardware.remote import Reach, Remote
from buildbot_bench.lab.hardware.settings import (
    BootEnvironmentSettings,
    GeneratorSettings,
    SliceSettings,
    SshSettings,
)
from buildbot_bench.lab.hardware.traffic import commands_of, flag_findings, program_of

_LEAST_FREE_KB = 256 * 1024  # two kernels with their modules, of 100 MB and more each
_DF_COLUMNS = 3  # from the right, of df(1): what is free, how full it is, where it is mounted
_DUT_PROGRAMS = ("shutdown", "sysctl", "sha256", "tar", "ifconfig")
_KERNEL_PROGRAMS = ("nextboot", "find")
_ENVIRONMENT_PROGRAMS = ("bectl", "find")
_IMAGE_PROGRAMS = ("xzcat", "mkfifo", "tee")
_GENERATOR_PROGRAMS = ("ifconfig", "timeout")


def check_testbed(
    settings: SshSettings, reach: Reach, lying: Mapping[str, LyingSet]
) -> list[CheckFinding]:
    """What is missing in the file first, then on the machines, one line each.

    `lying` are the configuration sets that the last jobs left on machines, by their addresses.
    """
    findings = gaps(settings)
    if settings.dut.address:
        findings += _guarded("DUT", _dut(settings, reach(settings.dut.address)))
    for role, end, command in commands_of(settings, settings.traffic):
        if end.address:
            findings += _guarded(role, _generator(role, end, reach(end.address), command))
    if any(one.latency for one in settings.workloads.values()) and settings.senders[:1]:
        sender = reach(settings.senders[0].address)
        findings += _guarded("sender 0", _programs("sender 0", sender, (VALECTL,)))
    if settings.reference is not None:
        findings += _guarded(
            "reference", _reachable("reference", reach(settings.reference.address))
        )
    findings += [
        CheckFinding(
            subject="configuration set", detail=f"that of {one.workload} lies on {address}"
        )
        for address, one in lying.items()
    ]
    return [*findings, _power(settings), _console(settings)]


def _guarded(role: str, findings: Iterator[CheckFinding]) -> list[CheckFinding]:
    """The findings of one machine, up to the one at which it could not be asked any further."""
    found: list[CheckFinding] = []
    try:
        found.extend(findings)
    except BenchError as error:
        found.append(
            CheckFinding(subject=role, detail=error.message, remedy=error.hint or "look there")
        )
    return found


def _reachable(role: str, remote: Remote) -> Iterator[CheckFinding]:
    user = remote.need("id", "-un").strip()
    yield CheckFinding(subject=role, detail=f"{remote.address} answers as {user}")


def _dut(settings: SshSettings, remote: Remote) -> Iterator[CheckFinding]:
    dut = settings.dut
    yield from _reachable("DUT", remote)
    whole_images = dut.slices is not None
    own = (*_IMAGE_PROGRAMS, *dut.upgrading[:1]) if whole_images else _KERNEL_PROGRAMS
    if dut.boot_environments is not None:
        own = _ENVIRONMENT_PROGRAMS
        yield _environment(remote, dut.boot_environments)
    yield from _programs("DUT", remote, (*_DUT_PROGRAMS, *own, *dut.saving[:1]))
    if settings.profile is not None:
        yield from _programs("DUT", remote, ("pmcstat",))
    firewalls = {workload.firewall for workload in settings.workloads.values()} - {""}
    yield from _programs("DUT", remote, tuple(map(program_of, sorted(firewalls))))
    known_good = dut.path(dut.known_good_file.lstrip("/"))
    fine = remote.run("test", "-f", known_good).status == 0
    yield CheckFinding(
        subject="known-good kernel",
        detail=known_good if fine else f"there is no {known_good}",
        remedy=None if fine else "install one, or name it by dut.known_good",
    )
    if dut.slices is None:
        yield _room(remote, dut.path("boot"))
    else:
        yield _once(remote, dut.slices)
    for port in dut.interfaces:
        yield from _port("DUT", remote, port, "")
    yield from _readiness(settings, remote)


def _once(remote: Remote, slices: SliceSettings) -> CheckFinding:
    """Whether a slice under test is booted once and no more."""
    once = [command for command in slices.boot_once if "bootonce" in command]
    if not once:
        detail = "a slice under test stays chosen until go_back: one that hangs is booted again"
        return CheckFinding(subject="slices.boot_once", detail=detail)
    try:
        for command in once:
            require_gpt(remote, command)
    except InfraError as error:
        return CheckFinding(subject="slices: bootonce", detail=error.message, remedy=error.hint)
    return CheckFinding(subject="slices: bootonce", detail="the disk has a GPT, which knows it")


def _environment(remote: Remote, names: BootEnvironmentSettings) -> CheckFinding:
    there = has_environment(remote, names.known_good)
    return CheckFinding(
        subject="boot environment",
        detail=names.known_good if there else f"bectl lists no {names.known_good}",
        remedy=None if there else "name one by dut.boot_environments.known_good",
    )


def _readiness(settings: SshSettings, remote: Remote) -> Iterator[CheckFinding]:
    """It is the configuration set of the last job that is in force now."""
    for name, workload in settings.workloads.items():
        for command in workload.ready:
            answer = remote.run(*command)
            fine = answer.status == 0
            yield CheckFinding(
                subject=f"readiness of {name}",
                detail=" ".join(command) + ("" if fine else f": {answer.complaint}"),
                remedy=None if fine else "see cables and addresses, and the configuration set",
            )


def _generator(
    role: str, end: GeneratorSettings, remote: Remote, command: Sequence[str]
) -> Iterator[CheckFinding]:
    yield from _reachable(role, remote)
    missing = list(_programs(role, remote, (command[0], *_GENERATOR_PROGRAMS)))
    yield from missing
    if not missing:
        yield from flag_findings(role, end, remote, command)
    if end.interface:
        yield from _port(role, remote, end.interface, end.mac)


def _programs(role: str, remote: Remote, programs: tuple[str, ...]) -> Iterator[CheckFinding]:
    for program in programs:
        fine = remote.run("sh", "-c", 'command -v "$0"', program).status == 0
        if not fine:
            yield CheckFinding(
                subject=f"{role}: {program}",
                detail="is not on its PATH",
                remedy="install it there; ssh gives a PATH of its own",
            )


def _port(role: str, remote: Remote, port: str, mac: str) -> Iterator[CheckFinding]:
    subject = f"{role}: {port}"
    answer = remote.run("ifconfig", port)
    if answer.status != 0:
        yield CheckFinding(subject=subject, detail=answer.complaint, remedy="correct the interface")
    elif mac and mac.lower() not in answer.stdout.lower():
        yield CheckFinding(
            subject=subject, detail=f"has another MAC than {mac}", remedy="correct mac"
        )
    elif "status: " in answer.stdout and "status: active" not in answer.stdout:
        yield CheckFinding(subject=subject, detail="has no link", remedy="see its cable")
    else:
        yield CheckFinding(subject=subject, detail="is there and has a link")


def _room(remote: Remote, directory: str) -> CheckFinding:
    words = remote.need("df", "-k", directory).splitlines()[-1].split()
    free_kb = int(words[-3]) if len(words) >= _DF_COLUMNS and words[-3].isdecimal() else 0
    return CheckFinding(
        subject=f"room in {directory}",
        detail=f"{free_kb // 1024} MB",
        remedy=None if free_kb >= _LEAST_FREE_KB else "two kernels need 256 MB: remove old ones",
    )


def _power(settings: SshSettings) -> CheckFinding:
    if settings.power is None:
        remedy = "write [testbeds.NAME.power]: a DUT that hangs then comes back without a person"
        return CheckFinding(subject="power", detail="no driver", remedy=remedy)
    try:
        return CheckFinding(subject="power", detail=settings.power.check())
    except BenchError as error:
        return CheckFinding(
            subject="power", detail=error.message, remedy=error.hint or "try it by hand"
        )


def _console(settings: SshSettings) -> CheckFinding:
    console = settings.console
    if console.command:
        if shutil.which(console.command[0]) is None:
            remedy = "install it on the lab controller"
            return CheckFinding(subject="console", detail=f"no {console.command[0]}", remedy=remedy)
        return CheckFinding(subject="console", detail=" ".join(console.command))
    if console.file is not None:
        return CheckFinding(subject="console", detail=str(console.file))
    return CheckFinding(subject="console", detail="none: what a kernel that panics says is lost")


_FAMILIES = 2  # of 'dual': inet and inet6, a sender each


def gaps(settings: SshSettings) -> list[CheckFinding]:
    """One finding for each thing that a measurement needs and that is not written down."""
    return [*_of_machines(settings), *_of_nanobsd(settings), *_of_traffic(settings)]


def require_complete(settings: SshSettings) -> None:
    """See that there is no gap."""
    if found := gaps(settings):
        raise UsageError(f"{found[0].subject}: {found[0].detail}", hint=found[0].remedy or "")


def _of_machines(settings: SshSettings) -> Iterator[CheckFinding]:
    dut, receiver = settings.dut, settings.receiver
    if not dut.address:
        yield _missing("dut.address", "give the name by which ssh reaches the DUT")
    if not dut.mac:
        yield _missing("dut.mac", "give the MAC of the DUT's port on the sender's side")
    if not settings.senders:
        yield _missing("senders", "write [[testbeds.NAME.senders]] with address, interface, mac")
    for number, sender in enumerate(settings.senders):
        for key in ("address", "interface", "mac"):
            if not getattr(sender, key):
                yield _missing(f"senders.{number}.{key}", f"give the sender's {key}")
    for key in ("address", "interface"):
        if not getattr(receiver, key):
            yield _missing(f"receiver.{key}", f"give the receiver's {key}")


def _of_nanobsd(settings: SshSettings) -> Iterator[CheckFinding]:
    dut = settings.dut
    if dut.is_nanobsd and not dut.saving and any(w.configs for w in settings.workloads.values()):
        yield _missing(
            "dut.save_config",
            "give the command that keeps /etc over a reboot, or write bsdrp = true on BSDRP",
        )
    if dut.slices is not None and not dut.upgrading:
        yield _missing(
            "dut.slices.upgrade",
            "give the command that writes an image from its standard input to the other slice,"
            " or write bsdrp = true on BSDRP",
        )


def _of_traffic(settings: SshSettings) -> Iterator[CheckFinding]:
    if not settings.workloads:
        yield _missing("workloads", "write [testbeds.NAME.workloads.forwarding]")
    for name, workload in settings.workloads.items():
        traffic = workload.traffic or settings.traffic
        if not workload.ready:
            yield _missing(
                f"workloads.{name}.ready",
                'give what succeeds on a ready DUT: [["ping", "-c", "2", "198.19.0.203"]]',
            )
        yield from _of_set(settings, f"workloads.{name}.configs", workload.configs)
        if not traffic.offered_pps:
            yield _missing(
                f"traffic.offered_pps (for {name})",
                "give what the senders bring about: run their pkt-gen and read Speed",
            )
        if traffic.family == "inet6" and workload.latency is not None:
            yield CheckFinding(
                subject=f"workloads.{name}.latency",
                detail="pkt-gen's ping stamps its frames where IPv6 has the address",
                remedy="take latency out, or make a workload of inet or dual",
            )
        if traffic.family == "dual" and len(settings.senders) < _FAMILIES:
            yield CheckFinding(
                subject=f"traffic.family (for {name})",
                detail="'dual' needs two senders",
                remedy="give two, or make two workloads, of inet and of inet6",
            )


def _of_set(settings: SshSettings, subject: str, configs: Path | None) -> Iterator[CheckFinding]:
    if configs is None:
        return
    if not configs.is_dir():
        yield CheckFinding(
            subject=subject,
            detail=f"there is no directory {configs}",
            remedy="name one that holds etc/ and boot/, or leave the key out",
        )
    elif is_empty(configs):
        yield CheckFinding(
            subject=subject,
            detail=f"{configs} holds no file",
            remedy="put etc/ or boot/ there, or leave the key out",
        )
    elif settings.reference is None and parts_of(configs).reference is not None:
        yield CheckFinding(
            subject=subject,
            detail=f"{configs} has a part for a reference endpoint, and there is none",
            remedy="write [testbeds.NAME.reference] with its address",
        )


def _missing(subject: str, remedy: str) -> CheckFinding:
    return CheckFinding(subject=subject, detail="missing", remedy=remedy)
