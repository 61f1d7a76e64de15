"""The check-ups of a hardware testbed, which ask each machine and reboot none."""

import shutil
from collections.abc import Iterator, Mapping, Sequence

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.hardware.config_set import LyingSet
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.gaps import gaps
from buildbot_bench.lab.hardware.latency import VALECTL
from buildbot_bench.lab.hardware.life import has_environment, require_gpt
from buildbot_bench.lab.hardware.remote import Reach, Remote
from buildbot_bench.lab.hardware.settings import (
    BootEnvironmentSettings,
    GeneratorSettings,
    SliceSettings,
    SshSettings,
)
from buildbot_bench.lab.hardware.traffic import program_of
from buildbot_bench.lab.pktgen import refused_option

# pkt-gen prints its usage at `-h`, before it opens a port, or at an unknown option, where it fails.
# An option that lacks its value takes `-h` for that; then `-:` ends it.
# Should it send all the same, because it is another program, then not for long.
_SCRIPT = 'exec timeout -k 1 5 "$0" "$@" -h -: 2>&1'


def flag_findings(
    role: str, end: GeneratorSettings, remote: Remote, command: Sequence[str]
) -> Iterator[CheckFinding]:
    """One finding when an end's command has an option that its pkt-gen does not take."""
    # sh(1) ends as pkt-gen does, whose 255 would pass for ssh's own.
    output = remote.run("sh", "-c", f"({_SCRIPT}) || true", *command).stdout
    refused = refused_option(output)
    if refused is None or refused.option == "h":
        return
    word, complaint = f"-{refused.option}", refused.complaint
    if refused.option == ":":
        word, complaint = command[-1], f"option requires an argument -- {command[-1][1:]}"
    yield CheckFinding(
        subject=f"{role}: flags",
        detail=f"{command[0]} of {remote.address} says: {complaint}",
        remedy=f"take {word} out of flags, or correct it: `{command[0]} -h` there lists its options"
        if any(flag.startswith(word) for flag in end.flags)
        else f"install a {command[0]} that takes {word}",
    )


def commands_of(
    settings: SshSettings, traffic: PktgenTraffic
) -> list[tuple[str, GeneratorSettings, Sequence[str]]]:
    """The role of each sender and of the receiver, what it is, and what it runs."""
    senders = [
        (f"sender {n}", end, settings.transmit(traffic, n))
        for n, end in enumerate(settings.senders)
    ]
    return [*senders, ("receiver", settings.receiver, settings.receive(traffic))]


def require_flags(settings: SshSettings, reach: Reach, workload: str) -> None:
    """See that the senders' and the receiver's pkt-gen take their options."""
    for role, end, command in commands_of(settings, settings.traffic_of(workload)):
        for finding in flag_findings(role, end, reach(end.address), command):
            raise InfraError(f"{role}: {finding.detail}", hint=finding.remedy or "")


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
