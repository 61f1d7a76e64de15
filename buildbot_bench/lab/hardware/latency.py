"""Packets timed by pkt-gen's ping beside the load that is offered, and searches under traffic."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.run_logs import RunLogs
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.loss import MOST_OFF, NothingPassed, offered
from buildbot_bench.lab.hardware.process import RemoteProcess
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.hardware.switchboard import Reach
from buildbot_bench.lab.hardware.traffic import Blaster
from buildbot_bench.lab.latency import Latency, LatencySettings
from buildbot_bench.lab.loss_search import FoundRates, LossSettings, search_rates
from buildbot_bench.lab.pktgen import Pings, Unusable, mean_pps, parse_pings, refused_option

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
