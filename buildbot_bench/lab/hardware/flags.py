"""The check that a host's pkt-gen takes the options of its command line."""

from collections.abc import Iterator, Sequence

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import GeneratorSettings, SshSettings
from buildbot_bench.lab.hardware.switchboard import Reach
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
