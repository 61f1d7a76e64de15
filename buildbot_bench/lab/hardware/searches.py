"""The rates and the latencies of a booted kernel, found under traffic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.latency import time_packets
from buildbot_bench.lab.hardware.loss import NothingPassed, offered
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.hardware.switchboard import Reach
from buildbot_bench.lab.hardware.traffic import Blaster
from buildbot_bench.lab.latency import Latency
from buildbot_bench.lab.loss_search import FoundRates, LossSettings, search_rates


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
