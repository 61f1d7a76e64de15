"""Packets timed and counted under traffic: latency by pkt-gen's ping, and rates without loss."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.wire import RunLogs
from buildbot_bench.lab.hardware.flows import Latency, LatencySettings, PktgenTraffic
from buildbot_bench.lab.hardware.remote import Reach, Remote, RemoteProcess
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.hardware.traffic import Blaster
from buildbot_bench.lab.loss_search import FoundRates, LossSettings, LossTrial, search_rates
from buildbot_bench.lab.pktgen import (
    Pings,
    Received,
    Sent,
    Unusable,
    mean_pps,
    parse_pings,
    parse_received,
    parse_sender,
    refused_option,
)

MOST_OFF = 0.01  # of the offered rate; chosen: as of other traffic (lab.quality)
_TRIES = 3  # of a trial; chosen: a host that is busy now and then sends as it is asked to in one
_LEAST_SEEN = 0.8  # of a trial; chosen: what is printed of a tenth of a second is rounded

# netstat(1) has each port's own line by <Link#N>; a driver its NIC's under dev.igb.0.
_SCRIPT = """
netstat -ind 2>/dev/null
for nic in "$@"; do
    driver=${nic%%[0-9]*}; unit=${nic#"$driver"}
    sysctl "dev.$driver.$unit" 2>/dev/null
done
vmstat -i 2>/dev/null
true
"""
_HEADING = re.compile(r"Name +Mtu +Network +Address +(.+)")
_PORT = re.compile(r"(\S+?)\*? +\d+ +<Link#\d+> +(.+)", re.ASCII)
_NIC = re.compile(
    r"dev\.([a-z0-9_]+\.\d+\.\S*(?:drop|err|miss|no_buf|no_desc|discard|overrun|fail)\S*): (\d+)",
    re.ASCII,
)
_INTERRUPTS = re.compile(r"(?:irq\d+: )?(\S+?):\S* +(\d+) +\d+", re.ASCII)
_DROPPED = ("Ierrs", "Idrop", "Oerrs", "Drop")
_MOST_COUNTERS = 30  # that a trial names; chosen: all ports' and a dozen of the NICs'


class HeldUpError(InfraError):
    """The senders sent another load than they were asked for, which says nothing of the DUT."""


class NothingPassed(Exception):  # noqa: N818 - it is the DUT's outcome, not our fault
    """No packet at all arrived in a trial."""


def offered(
    blaster: Blaster, settings: SshSettings, traffic: PktgenTraffic, dut: Remote
) -> Callable[[float, float], LossTrial]:
    """What offers one rate for a time, by which rates without loss are searched.

    A trial in which the senders were held up is tried again.
    """

    def offer(rate_pps: float, duration_s: float) -> LossTrial:
        for _ in range(_TRIES - 1):
            with suppress(HeldUpError):
                return trial(rate_pps, duration_s)
        return trial(rate_pps, duration_s)

    def trial(rate_pps: float, duration_s: float) -> LossTrial:
        own = replace(traffic, offered_pps=rate_pps, duration_s=duration_s, paced=True)
        before = read_counters(dut, settings.dut.interfaces)
        logs = blaster.run(own, to_the_end=True)
        after = read_counters(dut, settings.dut.interfaces)
        risen = {name: after[name] - number for name, number in before.items() if name in after}
        return counted(logs, own, {name: number for name, number in risen.items() if number > 0})

    return offer


def counted(logs: RunLogs, traffic: PktgenTraffic, counters: Mapping[str, int]) -> LossTrial:
    """The trial that the logs of its ends tell of; InfraError where they do not.

    Raises NothingPassed where no packet arrived.
    """
    sent, pps = 0, 0.0
    for log in logs.senders:
        match parse_sender(log):
            case Unusable(reason=reason):
                raise InfraError(reason)
            case Sent(packets=packets, pps=own):
                sent, pps = sent + packets, pps + own
    if abs(pps / traffic.load_pps - 1) > MOST_OFF:
        raise HeldUpError(
            f"the senders sent {pps:.0f} pps, not {traffic.load_pps:.0f}",
            hint="lower offered_pps to what they can hold with pkt-gen -R, or lengthen trial_s",
        )
    match parse_received(logs.receiver):
        case Unusable(nothing_came=True):
            raise NothingPassed
        case Unusable(reason=reason):
            raise InfraError(reason)
        case Received(seconds=seconds) if seconds < _LEAST_SEEN * traffic.duration_s:
            # Another host's packet may start pkt-gen -W, which ends after a second of silence.
            raise InfraError(f"the receiver saw {seconds:g} s of {traffic.duration_s:g} s traffic")
        case Received(packets=received):
            return LossTrial(
                rate_pps=traffic.load_pps,
                duration_s=traffic.duration_s,
                wanted=len(logs.senders) * traffic.packets(len(logs.senders)),
                sent=sent,
                received=received,
                counters=dict(list(counters.items())[:_MOST_COUNTERS]),
            )
    raise AssertionError(logs)


def read_counters(dut: Remote, ports: tuple[str, ...]) -> dict[str, int]:
    """The DUT's counters of drops and errors and its ports' interrupts; none that it lacks."""
    return parse_counters(dut.script(_SCRIPT, *ports), ports)


def parse_counters(text: str, ports: tuple[str, ...]) -> dict[str, int]:
    """The counters in what the DUT printed: `igb0 Idrop`, `igb.0.mac_stats.missed_packets`."""
    found: dict[str, int] = {}
    columns: list[str] = []
    for line in text.splitlines():
        if match := _HEADING.match(line):
            columns = match[1].split()
        elif (match := _PORT.match(line)) and match[1] in ports and columns:
            # The address may be missing, and so may the last column's value.
            values = [word for word in match[2].split() if word.isdecimal()]
            named = dict(zip(columns, values, strict=False))
            found |= {f"{match[1]} {name}": int(named[name]) for name in _DROPPED if name in named}
        elif match := _NIC.fullmatch(line):
            found[match[1]] = int(match[2])
        elif (match := _INTERRUPTS.fullmatch(line.rstrip())) and match[1] in ports:
            name = f"{match[1]} interrupts"
            found[name] = found.get(name, 0) + int(match[2])
    return found


VALECTL = "valectl"
_SWITCH = "vale7"  # chosen: hosts that have switches of their own count them from vale0
_LOAD_MAC = "02:00:00:00:00:01"  # locally administered
_LOST = 255  # exit status, ssh(1): the connection is gone
_ROUNDED_PPS = 2  # of two counts of a second each
_MOST_LOST = 0.02  # of a share of the rate without loss; chosen: far more than such a rate loses


def time_packets(
    settings: SshSettings, reach: Reach, logs: Path, workload: str, loads: Mapping[str, float]
) -> list[Latency]:
    """What pings tell at loads of a workload with `latency`, which are in pps.

    Raises NothingPassed where none came back, InfraError for what the lab does not bring about.
    """
    latency = settings.workloads[workload].latency or LatencySettings()
    first, *others = settings.senders
    sharing = replace(first, flags=(*first.flags, "-i", f"{_SWITCH}:load", "-S", _LOAD_MAC))
    blaster = Blaster(replace(settings, senders=(sharing, *others)), reach, logs)
    traffic = replace(
        settings.traffic_of(workload),
        duration_s=latency.duration_s + settings.limits.margin_s,
        paced=True,
    )
    remote, limit_s = reach(first.address), latency.duration_s + settings.limits.margin_s / 2
    # After the sender's own flags: ping is for one thread, and for one packet at a time.
    command = traffic.ping(mac=first.mac, dut_mac=settings.dut.mac, latency=latency)
    command += [*first.flags, "-p", "1", "-b", "1", "-i", f"{_SWITCH}:ping"]

    def ping() -> str:
        process = RemoteProcess(remote, command, logs / "ping.log", lifetime_s=limit_s)
        try:
            process.wait_until(process.ended, limit_s)  # one that loses many is not awaited
        finally:
            process.stop()
        if process.status() == _LOST and refused_option(process.log()) is None:
            raise InfraError("ssh lost the ping under traffic")
        return process.log()

    found = []
    with _on_a_switch(remote, first.interface):
        try:
            for load, pps in loads.items():
                own = replace(traffic, offered_pps=pps)
                log, ends = blaster.under_traffic(own, ping)
                lost = lost_of(ends, own, at_most=1.0 if latency.rates_pps else _MOST_LOST)
                found.append(_latency(log, load, own.load_pps, lost))
        finally:
            blaster.stop()
    return found


def free_port(settings: SshSettings, reach: Reach) -> None:
    """Take the first sender's port off the switch on which a job that was killed left it."""
    if any(workload.latency is not None for workload in settings.workloads.values()):
        first = settings.senders[0]
        reach(first.address).run(VALECTL, "-d", f"{_SWITCH}:{first.interface}")


@contextmanager
def _on_a_switch(remote: Remote, port: str) -> Iterator[None]:
    name = f"{_SWITCH}:{port}"
    remote.need(VALECTL, "-a", name)
    try:
        yield
    finally:
        remote.run(VALECTL, "-d", name)


def lost_of(ends: RunLogs, traffic: PktgenTraffic, *, at_most: float) -> float:
    """The share of the load that was lost; InfraError where the load was another."""
    sent = sum(map(mean_pps, ends.senders))
    if not sent or abs(sent - traffic.load_pps) > max(_ROUNDED_PPS, MOST_OFF * traffic.load_pps):
        raise InfraError(
            f"the senders sent {sent:.0f} pps, not {traffic.load_pps:.0f}",
            hint="lower the shares of latency to what they can hold through vale(4)",
        )
    lost = max(0.0, 1 - mean_pps(ends.receiver) / sent)
    if lost > at_most:
        raise InfraError(
            f"{lost:.0%} of {sent:.0f} pps were lost, which is a rate without loss",
            hint="vale(4) may lose them on the sender's port: try `-b 64` in senders.flags",
        )
    return lost


def _latency(log: str, load: str, load_pps: float, lost: float) -> Latency:
    match parse_pings(log):
        case Unusable(nothing_came=True):
            raise NothingPassed
        case Unusable(reason=reason):
            raise InfraError(f"at {load}: {reason}")
        case Pings() as pings:
            return Latency(load=load, load_pps=load_pps, pings=pings, lost=lost)


@dataclass(frozen=True, kw_only=True, slots=True)
class Searches:
    """The searches of one testbed. `tell` hears what is being done.

    Each raises NothingPassed where nothing at all comes through, InfraError for the lab's faults.
    """

    settings: SshSettings
    reach: Reach
    blaster: Blaster
    logs: Path
    tell: Callable[[str], None]

    def rates(self, workload: str, loss: LossSettings) -> FoundRates:
        """The rates without loss, and with little."""
        traffic = self.settings.traffic_of(workload)
        self.tell("traffic at several rates")
        dut = self.reach(self.settings.dut.address)
        offer = offered(self.blaster, self.settings, traffic, dut)
        return search_rates(offer, loss, most_pps=traffic.load_pps)

    def latencies(self, workload: str, loads: Mapping[str, float]) -> list[Latency]:
        """How long packets take at each load."""
        self.tell("pings under traffic")
        try:
            return time_packets(self.settings, self.reach, self.logs, workload, loads)
        except NothingPassed:
            # A link may have bounced as the switch took its port: that is not the kernel's fault.
            self.tell("no ping came back; pings once more")
        return time_packets(self.settings, self.reach, self.logs, workload, loads)

    def sampled(self, workload: str, share: float) -> PktgenTraffic:
        """The traffic of a capture: the workload's, or a share of its rate without loss."""
        traffic, loss = self.settings.traffic_of(workload), self.settings.workloads[workload].loss
        if loss is None or not share:
            return traffic
        try:
            ndr_pps = self.rates(workload, loss).ndr_pps
        except NothingPassed:
            ndr_pps = None
        if ndr_pps is None:
            raise InfraError("there is no rate without loss, of which a capture takes a share")
        return replace(traffic, offered_pps=share * ndr_pps)
