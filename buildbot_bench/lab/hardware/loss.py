"""One trial of a search for the rate without loss: paced traffic, counts, the DUT's counters."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from buildbot_bench.core.errors import InfraError
from buildbot_bench.core.run_logs import RunLogs
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.hardware.traffic import Blaster
from buildbot_bench.lab.loss_search import LossTrial
from buildbot_bench.lab.pktgen import Received, Sent, Unusable, parse_received, parse_sender

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
_LOST = ("Ierrs", "Idrop", "Oerrs", "Drop")
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
            found |= {f"{match[1]} {name}": int(named[name]) for name in _LOST if name in named}
        elif match := _NIC.fullmatch(line):
            found[match[1]] = int(match[2])
        elif (match := _INTERRUPTS.fullmatch(line.rstrip())) and match[1] in ports:
            name = f"{match[1]} interrupts"
            found[name] = found.get(name, 0) + int(match[2])
    return found
