"""One run of traffic, receiver first; counts of a firewall, and a capture of cycles under it."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.profile.formats import parse_pmc_graph
from buildbot_bench.core.profile.functions import CALLCHAIN_DEPTH
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import RunLogs
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.remote import Reach, Remote, RemoteProcess
from buildbot_bench.lab.hardware.settings import (
    GeneratorSettings,
    Limits,
    ProfileSettings,
    SshSettings,
)
from buildbot_bench.lab.pktgen import receiver_is_ready, refused_option, traffic_is_seen

_Result = TypeVar("_Result")

_LOST = 255  # exit status, ssh(1): the connection is gone


class Blaster:
    """The senders and the receiver of a testbed."""

    def __init__(self, settings: SshSettings, reach: Callable[[str], Remote], logs: Path) -> None:
        self._settings = settings
        self._reach = reach
        self._logs = logs
        self._processes: dict[str, RemoteProcess] = {}

    def run(self, traffic: PktgenTraffic, *, to_the_end: bool = False) -> RunLogs:
        """Blast once; the logs of all. `to_the_end` lets the receiver end and count by itself."""
        receiver, senders = self._begin(traffic)
        _await_senders(senders, traffic.duration_s + self._settings.limits.margin_s)
        if to_the_end:  # pkt-gen -W ends a second after the last packet; a deaf one never does
            receiver.wait_until(receiver.ended, self._settings.limits.drain_s)
        logs = self._stopped_logs(receiver, senders)
        for process, log in zip(senders, logs.senders, strict=True):
            # pkt-gen itself ends with this status at an option that it does not take.
            if process.status() == _LOST and refused_option(log) is None:
                raise InfraError(f"ssh lost a sender under traffic: {_end(log)}")
        return logs

    def under_traffic(
        self, traffic: PktgenTraffic, action: Callable[[], _Result]
    ) -> tuple[_Result, RunLogs]:
        """Do something from when traffic is seen to pass the DUT, and stop the traffic then."""
        receiver, senders = self._begin(traffic)
        limit_s = self._settings.limits.receiver_s
        if not receiver.wait_until(lambda: traffic_is_seen(receiver.log()), limit_s):
            raise InfraError(f"no traffic was seen within {limit_s:g} s: {_end(receiver.log())}")
        result = action()
        outlived = not any(process.ended() for process in (receiver, *senders))
        if not outlived or not traffic_is_seen(receiver.log()):
            raise InfraError(f"the traffic ended too soon: {_end(receiver.log())}")
        return result, self._stopped_logs(receiver, senders)

    def _begin(self, traffic: PktgenTraffic) -> tuple[RemoteProcess, list[RemoteProcess]]:
        """Receiver first, and the senders when it polls its ring and all links are up."""
        limits = self._settings.limits
        lifetime_s = limits.receiver_s + traffic.duration_s + 2 * limits.margin_s
        receiver = self._start(
            "receiver",
            self._settings.receiver,
            self._settings.receive(traffic),
            lifetime_s,
        )
        self._await_receiver(receiver)
        self._await_link()
        senders = [
            self._start(f"sender{n}", sender, self._settings.transmit(traffic, n), lifetime_s)
            for n, sender in enumerate(self._settings.senders)
        ]
        return receiver, senders

    def stop(self) -> None:
        """Stop all that runs; InfraError when one cannot be stopped, after all were tried."""
        troubles = []
        for process in self._processes.values():
            try:
                process.stop()
            except InfraError as error:
                troubles.append(error)
        self._processes.clear()
        if troubles:
            raise troubles[0]

    def said(self) -> str:
        """The logs of the processes of the last run, the receiver's last."""
        files = sorted(self._logs.glob("*.log"), reverse=True)
        return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)

    def forget(self) -> None:
        """Remove the logs of the run before."""
        for file in self._logs.glob("*.log"):
            file.unlink()

    def _start(
        self, name: str, end: GeneratorSettings, command: list[str], lifetime_s: float
    ) -> RemoteProcess:
        log = self._logs / f"{name}.log"
        process = RemoteProcess(self._reach(end.address), command, log, lifetime_s=lifetime_s)
        self._processes[name] = process
        return process

    def _await_receiver(self, receiver: RemoteProcess) -> None:
        limit_s = self._settings.limits.receiver_s
        if not receiver.wait_until(lambda: receiver_is_ready(receiver.log()), limit_s):
            if refused := refused_option(receiver.log()):
                raise InfraError(
                    f"the receiver's pkt-gen does not take its options: {refused.complaint}",
                    hint="see receiver.flags and `bench-lab check`",
                )
            how = "ended" if receiver.ended() else f"was not ready after {limit_s:g} s"
            raise InfraError(f"the receiver {how}: {_end(receiver.log())}")

    def _await_link(self) -> None:
        """Opening a port for netmap bounces its link, which the other end notices, too."""
        receiver = self._settings.receiver
        dut = self._settings.dut
        end_s = time.monotonic() + self._settings.limits.receiver_s
        for address, ports in (
            (receiver.address, [receiver.interface]),
            (dut.address, dut.interfaces),
        ):
            while down := self._without_link(address, ports):
                if time.monotonic() > end_s:
                    raise InfraError(f"{address}: {down} has no link", hint="see its cable")
                time.sleep(self._settings.limits.poll_s)

    def _without_link(self, address: str, ports: Sequence[str]) -> str:
        """The first of some ports that has no link; empty when all have one, or do not tell."""
        script = 'for port in "$@"; do ifconfig "$port"; printf "\\036"; done'
        replies = self._reach(address).need("sh", "-c", script, "ports", *ports).split("\x1e")
        for port, text in zip(ports, replies, strict=False):
            if "status: " in text and "status: active" not in text:
                return port
        return ""

    def _stopped_logs(self, receiver: RemoteProcess, senders: list[RemoteProcess]) -> RunLogs:
        lost = receiver.status() == _LOST
        self.stop()
        if lost:
            raise InfraError(f"ssh lost the receiver under traffic: {_end(receiver.log())}")
        return RunLogs(receiver=receiver.log(), senders=tuple(sender.log() for sender in senders))


def _await_senders(senders: list[RemoteProcess], limit_s: float) -> None:
    """They end by themselves when they have sent all; a receiver that is gone is seen later."""
    end_s = time.monotonic() + limit_s
    for sender in senders:
        if not sender.wait_until(sender.ended, max(0.0, end_s - time.monotonic())):
            raise InfraError(
                f"the sender came to no end within {limit_s:g} s: {_end(sender.log())}"
            )


def _end(log: str) -> str:
    return log.rstrip()[-300:]


# What the programs print: sbin/pfctl/pfctl.c, sbin/ipfw/ipfw2.c, sbin/ipf/ipfstat/ipfstat.c.
@dataclass(frozen=True, kw_only=True, slots=True)
class _Listing:
    """The command that lists rules, and where it has the packets of each."""

    command: tuple[str, ...]
    packets: re.Pattern[str]


_LISTINGS: Mapping[str, _Listing] = {
    "pf": _Listing(
        command=("pfctl", "-v", "-s", "rules"),
        packets=re.compile(r"\[ Evaluations: \d+ +Packets: (\d+) ", re.ASCII),
    ),
    # Its last rule is the kernel's own, and lo0 carries what the DUT says to itself.
    "ipfw": _Listing(
        command=("ipfw", "-a", "list"),
        packets=re.compile(
            r"^(?!65535)\d{5} +(\d+) +\d+ (?!.* via lo0\b)", re.ASCII | re.MULTILINE
        ),
    ),
    "ipf": _Listing(
        command=("ipfstat", "-hio"),
        packets=re.compile(r"^(\d+) (?:pass|block|count)\b", re.ASCII | re.MULTILINE),
    ),
}


def program_of(firewall: str) -> str:
    """The program that lists a firewall's rules."""
    return _LISTINGS[firewall].command[0]


def counted_packets(remote: Remote, firewall: str) -> int | str:
    """What all rules have counted together; or why nobody can tell."""
    listing = _LISTINGS[firewall]
    answer = remote.run(*listing.command)
    if answer.status != 0:
        return f"{firewall} does not run: {answer.complaint}"
    counts = listing.packets.findall(answer.stdout)
    return sum(map(int, counts)) if counts else f"{firewall} has no rules"


_LONGEST_GRAPH = 64 * 1024 * 1024  # bytes
_SAMPLED_DEPTH = 50  # frames that are kept; the graph has fewer


class Sampler:
    """pmcstat on one DUT."""

    def __init__(
        self, remote: Remote, settings: ProfileSettings, limits: Limits, logs: Path
    ) -> None:
        self._remote = remote
        self._settings = settings
        self._limits = limits
        self._logs = logs
        self._samples = f"{settings.directory}/bench.pmc.out"
        self._graph = f"{settings.directory}/bench.pmc.graph"

    def capture(self, blaster: Blaster, traffic: PktgenTraffic) -> Profile:
        """Sample while traffic passes; InfraError for all that does not come about."""
        self._remote.need("kldload", "-n", "hwpmc")
        lasting = replace(traffic, duration_s=self._settings.duration_s + self._limits.margin_s)
        with self._room():
            blaster.under_traffic(lasting, self._sample)
            return self._read()

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Have the capture's directory there, and leave nothing in it."""
        remote = self._remote
        if self._settings.mount:
            remote.need("mount", self._settings.directory)
        try:
            yield
        finally:
            remote.run("rm", "-f", self._samples, self._graph)
            if self._settings.mount:
                remote.need("umount", self._settings.directory)

    def _sample(self) -> None:
        settings, margin_s = self._settings, self._limits.margin_s
        command = ["pmcstat", "-z", str(_SAMPLED_DEPTH), "-S", settings.event]
        command += ["-l", f"{settings.duration_s:g}", "-O", self._samples]
        process = RemoteProcess(
            self._remote,
            command,
            self._logs / "pmcstat.log",
            lifetime_s=settings.duration_s + margin_s,
        )
        try:
            if not process.wait_until(process.ended, settings.duration_s + margin_s):
                raise InfraError("pmcstat came to no end")
        finally:
            process.stop()
        if process.status() != 0:
            said = process.log().rstrip()[-300:]
            hint = "see `pmccontrol -L` on the DUT for its counters"
            raise InfraError(f"pmcstat failed: {said}", hint=hint)

    def _read(self) -> Profile:
        """What the DUT makes of the samples: it has the kernel and its symbols."""
        limit_s = self._limits.transfer_s
        command = ("pmcstat", "-R", self._samples, f"-z{CALLCHAIN_DEPTH}", "-G", self._graph)
        self._remote.need(*command, deadline_s=limit_s)
        text = self._remote.need("head", "-c", str(_LONGEST_GRAPH), self._graph, deadline_s=limit_s)
        try:
            return parse_pmc_graph(text.splitlines(), source=self._graph)
        except UsageError as error:
            raise InfraError(error.message, hint=error.hint) from error


# pkt-gen prints its usage at `-h`, before it opens a port, or at an unknown option, where it fails.
# An option that lacks its value takes `-h` for that; then `-:` ends it.
# Should it send all the same, because it is another program, then not for long.
_USAGE_SCRIPT = 'exec timeout -k 1 5 "$0" "$@" -h -: 2>&1'


def flag_findings(
    role: str, end: GeneratorSettings, remote: Remote, command: Sequence[str]
) -> Iterator[CheckFinding]:
    """One finding when an end's command has an option that its pkt-gen does not take."""
    # sh(1) ends as pkt-gen does, whose 255 would pass for ssh's own.
    output = remote.run("sh", "-c", f"({_USAGE_SCRIPT}) || true", *command).stdout
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
