"""The driver of a testbed of processes: the kernel is a packet forwarder, a boot its start."""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from buildbot_bench import installed
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision
from buildbot_bench.core.metric import BOOT, NDR
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.drivers.child import (
    PKTBLAST,
    ChildProcess,
    can_name,
    compiler,
    count_samples,
    kill_leftovers,
    make_room,
    read_capture,
    sampler,
    tools,
)
from buildbot_bench.lab.drivers.forwarders import (
    KERNEL,
    LATENCY_PACKETS,
    Forwarders,
    check_traffic,
    latencies,
    offered,
    parse_turns,
    relative_efficiency,
)
from buildbot_bench.lab.files import copy_verified, sha256
from buildbot_bench.lab.loss_search import LossSettings, library_finding, search_rates
from buildbot_bench.lab.pktgen import Reading, parse_receiver
from buildbot_bench.lab.tables import nearest

_CONSOLE_LIMIT = 8000  # characters, its end; a page of a log
_LEAST_SAMPLES = 30  # chosen: a share of a tenth is then known to a half of itself
# An idle machine gives some 600 in 8 s, at a tick of 4 ms; a busy one is given more time.
_ENOUGH_SAMPLES = 500
_MOST_BLASTS = 6  # of a capture
_BURST_S = 0.05  # in lock-step, with all that others do meanwhile; chosen: ten looks of pktblast's
_MOST_RATE = 2.0  # that is offered, times the control's: bursts of 350 packets


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedSettings:
    """How long a boot may take, how long a blast lasts, and the scale of the primary value.

    `profile_s` is how long a blast lasts when the kernel is sampled. Where other programs leave the
    kernel too little processor time, more blasts follow.

    `control_rate` is what the control forwarder does by definition, in packets/CPU-s. Change it,
    or the duration, together with the testbed's epoch.
    """

    duration_s: float = 0.5
    profile_s: float = 8.0
    boot_timeout_s: float = 5.0
    control_rate: float = 350_000.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddedWorkload:
    """What is blasted: `flows` are 1 to 2000 pairs of addresses, one after the other.

    With `loss` the rates without loss are found as well, and their values come first; likewise with
    `latency_at` the latencies at that share of the control's rate.
    """

    flows: int
    loss: LossSettings | None = None
    latency_at: float | None = None


# The netbenches archive's preset: 20 sources, 100 destinations.
FORWARDING = EmbeddedWorkload(flows=2000)
# Forty bursts a trial, and one trial a rate: what a queue drops repeats to the packet.
LOSSLESS = replace(
    FORWARDING, loss=LossSettings(trial_s=0.02, trials=1, least_pps=10_000.0, most_s=300.0)
)
LATENCY = replace(FORWARDING, latency_at=0.5)


class EmbeddedDriver:
    """Runs kernels that are programs, all on one processor; cables are UDP on the loopback.

    The kernel takes turns with the control, a forwarder that never changes, and the value is on a
    scale on which that one has `control_rate`: a busy machine slows down both.
    """

    SETTINGS = EmbeddedSettings

    def __init__(
        self, settings: EmbeddedSettings, home: Path, tell: Callable[[str], None] = unheard
    ) -> None:
        del tell  # it is quick
        self._settings = settings
        self._home = home
        self._kernel = home / "boot" / "kernel"
        self._digest = ""
        self._tunables: tuple[str, ...] = ()
        self._boot_s = 0.0
        self._workloads: Mapping[str, EmbeddedWorkload] = installed.load_all(
            installed.EMBEDDED_WORKLOADS
        )
        self._running = Forwarders(home, boot_timeout_s=settings.boot_timeout_s)

    def workloads(self) -> tuple[str, ...]:
        """Those that are registered."""
        return tuple(self._workloads)

    def check(self) -> list[CheckFinding]:
        """A compiler, programs that it compiles, and a control that takes traffic."""
        cc = compiler()
        if cc is None:
            return [
                CheckFinding(subject="C compiler", detail="none", remedy="install one, or set CC")
            ]
        findings = [CheckFinding(subject="C compiler", detail=cc)]
        # One workload alone needs it.
        findings.append(replace(library_finding("MLRsearch", "MLRsearch"), remedy=None))
        try:
            findings.append(CheckFinding(subject="programs", detail=str(tools(self._home))))
            self._running.open_receiver()
            port = self._running.start_control(lasting_s=self._settings.duration_s)
            findings.append(CheckFinding(subject="control", detail=f"takes traffic on port {port}"))
        except BenchError as error:
            remedy = error.hint or "see the message"
            findings.append(CheckFinding(subject="testbed", detail=error.message, remedy=remedy))
        finally:
            self.shutdown()
        return findings

    def facts(self) -> dict[str, str]:
        """The machine and the settings that a value depends on."""
        return {
            "machine": platform.machine(),
            "system": f"{platform.system()} {platform.release()}",
            "processor": str(self._running.cpu),
            "duration_s": str(self._settings.duration_s),
            "control": f"{self._settings.control_rate:.0f} packets/CPU-s by definition",
        }

    def prepare(self, workload: str) -> None:
        """All workloads have the same boots."""

    def install(self, artefact: Path, digest: str) -> None:
        """Put the program where the next boot finds it."""
        kill_leftovers(self._home)
        copy_verified(artefact, self._kernel, digest, mode=0o700)
        self._digest = digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Give them to the kernel as its environment, as the loader does; the control has none."""
        self._tunables = tuple(tunables)

    def boot(self) -> None:
        """Start control and kernel afresh; both take traffic when this returns."""
        settings = self._settings
        searches = (one.loss.most_s for one in self._workloads.values() if one.loss is not None)
        lasting_s = max(settings.duration_s, _MOST_BLASTS * settings.profile_s, *searches)
        self._running.open_receiver()
        self._running.start_control(lasting_s=lasting_s)
        began_s = time.monotonic()
        try:
            self._running.start(KERNEL, self._kernel, self._environment, lasting_s=lasting_s)
        except OSError as error:
            raise UntestableRevision(
                f"the kernel is no program of this machine: {error}"
            ) from error
        if not self._running.await_port(KERNEL):
            how = self._running.ending(KERNEL) or f"was not up after {settings.boot_timeout_s:g} s"
            raise UntestableRevision(f"the kernel {how} when it booted")
        self._boot_s = time.monotonic() - began_s

    def verify(self) -> None:
        """Compare the digest of the program that the process runs."""
        running = _digest_of_process(self._running.pid(KERNEL)) or sha256(self._kernel)
        if running != self._digest:
            raise InfraError(f"the DUT runs {running[:12]}, not {self._digest[:12]}")

    def blast(self, workload: str) -> Blast:
        """Let kernel and control take turns; values in packets/CPU-s and, behind it, pps, BOOT."""
        traffic = self._workload(workload)
        blaster = self._send(traffic, self._settings.duration_s)
        turns = parse_turns(blaster.errors())
        check_traffic(blaster.output(), blaster.errors(), turns)
        pace_pps = relative_efficiency(turns) * self._settings.control_rate
        blast = Blast(values={"packets/CPU-s": pace_pps}, log=blaster.output())
        reading = parse_receiver(blast.log)
        if isinstance(reading, Reading):  # on a crowded machine too few lines may be left
            blast.values["pps"] = reading.median_pps
        blast.values[BOOT.unit] = self._boot_s
        if traffic.latency_at is not None:
            values = self._latencies(traffic, pace_pps, traffic.latency_at) | blast.values
            blast = replace(blast, values=values)
        return blast if traffic.loss is None else self._with_rates(blast, traffic, traffic.loss)

    def _latencies(
        self, traffic: EmbeddedWorkload, pace_pps: float, share: float
    ) -> dict[str, float]:
        """Send packets one at a time, as if at a share of the control's rate."""
        _, sender_log = self._send_bursts(traffic, LATENCY_PACKETS, LATENCY_PACKETS)
        rate_pps = share * self._settings.control_rate
        return latencies(sender_log, pace_pps=pace_pps, rate_pps=rate_pps)

    def _with_rates(self, blast: Blast, traffic: EmbeddedWorkload, loss: LossSettings) -> Blast:
        offer = offered(partial(self._send_bursts, traffic), pace_pps=blast.values["packets/CPU-s"])
        found = search_rates(offer, loss, most_pps=_MOST_RATE * self._settings.control_rate)
        if NDR.unit not in found.values:
            raise UntestableRevision(f"the kernel loses packets even at {loss.least_pps:.0f} pps")
        log = blast.log + found.log
        return Blast(values=found.values | blast.values, log=log, facts=found.facts)

    def _send_bursts(self, traffic: EmbeddedWorkload, packets: int, bursts: int) -> tuple[str, str]:
        blaster = self._send(traffic, bursts * _BURST_S, (packets, bursts))
        return blaster.output(), blaster.errors()

    def _send(
        self, traffic: EmbeddedWorkload, duration_s: float, lockstep: tuple[int, int] | None = None
    ) -> ChildProcess:
        """Let traffic pass once; the sender, which has ended well, as the kernel has not."""
        running = self._running
        blaster, amiss = running.blast(duration_s, flows=traffic.flows, lockstep=lockstep)
        if how := running.ending(KERNEL):
            raise UntestableRevision(f"the kernel {how} under traffic")
        if amiss:
            raise InfraError(amiss)
        return blaster

    def counter(self) -> str:
        """What is sampled, where the system has what it takes."""
        return "processor-time" if can_name() and compiler() else ""

    def capture(self, workload: str) -> Profile:
        """Start the kernel again with the sampler, and blast until there are enough samples."""
        samples = self._home / "logs" / "samples"
        make_room(samples)
        preload = {"LD_PRELOAD": str(sampler(self._home)), "BENCH_SAMPLES": str(samples)}
        lasting_s = _MOST_BLASTS * self._settings.profile_s
        environment = self._environment | preload
        self._running.start(KERNEL, self._kernel, environment, lasting_s=lasting_s)
        if not self._running.await_port(KERNEL):
            said = self._running.said(KERNEL)
            raise InfraError(f"the kernel does not start with the sampler: {said[-500:]}")
        maps = Path(f"/proc/{self._running.pid(KERNEL)}/maps").read_text(encoding="utf-8")
        for _ in range(_MOST_BLASTS):
            self._blast_sampled(workload)
            if count_samples(samples) >= _ENOUGH_SAMPLES:
                break
        taken = read_capture(samples, maps)
        if taken.samples < _LEAST_SAMPLES:
            raise InfraError(f"{taken.samples} samples are too few", hint="raise profile_s")
        return taken

    def _blast_sampled(self, workload: str) -> None:
        flows = self._workload(workload).flows
        _, amiss = self._running.blast(self._settings.profile_s, flows=flows)
        if how := self._running.ending(KERNEL):
            raise InfraError(f"the kernel {how} as it was sampled")
        if amiss:
            raise InfraError(amiss)

    def console(self) -> str:
        """What the kernel wrote, and what the receiver said if there was traffic."""
        consoles = {name: self._running.said(name) for name in (KERNEL, PKTBLAST)}
        return "\n".join(
            f"{name}:\n{said[-_CONSOLE_LIMIT:]}" for name, said in consoles.items() if said
        )

    def shutdown(self) -> None:
        """Kill everything."""
        self._running.close()

    def _workload(self, name: str) -> EmbeddedWorkload:
        if name not in self._workloads:
            raise InfraError(f"no such workload: {name}", hint=nearest(name, self._workloads))
        return self._workloads[name]

    @property
    def _environment(self) -> dict[str, str]:
        return dict(setting.split("=", 1) for setting in self._tunables)


def _digest_of_process(pid: int) -> str | None:
    """The SHA-256 of the program that a process runs; None where the system does not tell."""
    for link in (Path(f"/proc/{pid}/exe"), Path(f"/proc/{pid}/file")):  # Linux, FreeBSD
        try:
            return sha256(link)
        except OSError:
            continue
    return None
