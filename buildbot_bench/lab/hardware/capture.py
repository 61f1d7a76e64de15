"""One capture of the DUT's cycles, by pmcstat(8)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.profile.formats import parse_pmc_graph
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.profile.symbols import CALLCHAIN_DEPTH
from buildbot_bench.lab.hardware.flows import PktgenTraffic
from buildbot_bench.lab.hardware.process import RemoteProcess
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import Limits, ProfileSettings
from buildbot_bench.lab.hardware.traffic import Blaster

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
