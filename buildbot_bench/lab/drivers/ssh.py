"""The driver of a testbed of real machines behind ssh."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, TypeVar

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.metric import BOOT, Metric
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import RunLogs, join_logs
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.hardware.boot_watch import Alive, panic_in
from buildbot_bench.lab.hardware.check import check_testbed, require_complete
from buildbot_bench.lab.hardware.config_set import Configurator, Ledger
from buildbot_bench.lab.hardware.facts import dut_facts, testbed_facts
from buildbot_bench.lab.hardware.flows import HISTOGRAMS
from buildbot_bench.lab.hardware.install import (
    NOTHING,
    KernelArchive,
    SliceImage,
    install_kernel,
    open_image,
    repack,
    upgrade,
)
from buildbot_bench.lab.hardware.latency import NothingPassed, Searches, free_port
from buildbot_bench.lab.hardware.life import (
    Choice,
    Life,
    choice_of,
    make_environment,
    mounted,
    set_tunables,
    verify_image,
    verify_kernel,
)
from buildbot_bench.lab.hardware.reboot import Console, KernelFault, RemoteMachine
from buildbot_bench.lab.hardware.remote import NO_DEBUGGER, Remote, Switchboard, Unreachable
from buildbot_bench.lab.hardware.settings import ConsoleSettings, SshSettings
from buildbot_bench.lab.hardware.traffic import Blaster, Sampler, require_flags
from buildbot_bench.lab.loss_search import library_finding, need_library
from buildbot_bench.lab.pktgen import FitRun, Flaw, UnfitRun, judge_run

_PASSES = "passes traffic"
_TRAFFIC_SAID = 4096  # characters, a minute of pkt-gen's; there is room for 16,384 of all

_Result = TypeVar("_Result")


class SshDriver:
    """Drives a DUT, its senders and its receiver. `tell` hears what is being done."""

    SETTINGS = SshSettings

    def __init__(
        self, settings: SshSettings, home: Path, tell: Callable[[str], None] = unheard
    ) -> None:
        self._settings = settings
        self._home = home
        self._tell = tell
        self._workload = next(iter(settings.workloads), "")
        self._tunables: tuple[str, ...] = ()
        self._installed: KernelArchive | SliceImage = NOTHING
        self._boot: Alive | None = None
        self._siblings: list[float] = []
        self._last_words = ""
        self._console = Console(settings.console, home / "logs" / "console.out")
        self._switchboard = Switchboard(settings)
        self._reach = self._switchboard.reach
        self._blaster = Blaster(settings, self._reach, home / "logs")
        self._searches = Searches(
            settings=settings,
            reach=self._reach,
            blaster=self._blaster,
            logs=home / "logs",
            tell=tell,
        )
        self._ledger = Ledger(home / "sets.json")

    def workloads(self) -> tuple[str, ...]:
        """Those of testbeds.toml."""
        return tuple(self._settings.workloads)

    def check(self) -> list[CheckFinding]:
        """What is missing in testbeds.toml, and then on each machine."""
        try:
            findings = check_testbed(self._settings, self._reach, self._ledger.lying())
            workloads = self._settings.workloads.values()
            if any(one.loss is not None for one in workloads):
                findings.append(library_finding("MLRsearch", "MLRsearch"))
            if any(one.latency is not None for one in workloads):
                findings.append(library_finding(*HISTOGRAMS))
            return findings
        finally:
            self._switchboard.close()

    def prepare(self, workload: str) -> None:
        """Keep its name; UsageError for a testbed that is only half written down."""
        require_complete(self._settings)
        self._workload = workload

    def facts(self) -> dict[str, str]:
        """Ask all machines; a DUT that an earlier job left hanging is brought back first."""
        if self._machine().look() is None:
            self._life().recover()
        free_port(self._settings, self._reach)
        require_flags(self._settings, self._reach, self._workload)
        return testbed_facts(self._settings, self._reach, self._workload)

    def tune(self, tunables: Sequence[str]) -> None:
        """The loader sets them at each boot, and what it cannot set is set afterwards."""
        self._tunables = tuple(tunables)

    def install(self, artefact: Path, digest: str) -> None:
        """Put the kernel beside the known-good one, and the configuration set over all.

        A whole image goes to the slice that does not run, and its configuration set onto it.
        """
        if self._settings.dut.slices is not None:
            self._install_image(open_image(artefact, digest))
            return
        packed = self._home / "install" / "kernel.tgz"
        archive = repack(artefact, digest, packed)
        self._tell(f"installing {archive.name} on {self._settings.dut.address}")
        if self._settings.dut.boot_environments is not None:
            self._life().recover()
        try:
            self._upload(archive, packed)
        except Unreachable:
            self._life().recover()
            self._upload(archive, packed)
        self._installed = archive

    def _install_image(self, image: SliceImage) -> None:
        self._life().recover()
        self._configurator.unconfigure()
        self._tell(f"installing {image.name} on {self._settings.dut.address}")
        upgrade(self._dut, self._settings.dut, self._settings.limits, image)
        self._installed = image
        if self._settings.workloads[self._workload].configs:
            self.boot()  # what the set has in boot/ would land on the known-good slice
            self._configure()

    def boot(self) -> None:
        """Reboot into the kernel, once; it is ready when this returns."""
        self._last_words = ""
        try:
            self._boot = self._life().boot(self._installed.name, self._tunables)
        except KernelFault as fault:
            again = (lambda: self._life().prove_choice()) if fault.fell_back else None
            self._blame(str(fault), again)
        if not any(setting.startswith("debug.debugger_on_panic=") for setting in self._tunables):
            # A loader may not have been told; a kernel without a debugger has no such variable.
            self._dut.run("sysctl", NO_DEBUGGER)
        set_tunables(self._dut, self._tunables)

    def verify(self) -> None:
        """Ask the DUT which kernel runs."""
        match self._installed:
            case SliceImage() as image:
                verify_image(self._dut, image)
            case KernelArchive() as archive:
                verify_kernel(self._dut, self._settings.dut, archive)

    def blast(self, workload: str) -> Blast:
        """Send the workload's traffic once; the value is in pps.

        Of a workload with `loss`, search the rates at which it loses nothing, and little; of one
        with `latency`, time packets.
        """
        facts = self._facts_of_the_boot()
        own = self._settings.workloads[workload]
        if own.loss is not None or own.latency is not None:
            return self._searched(workload, facts)
        logs = self._run(workload)
        self._require_alive()
        match verdict := self._judge(logs, workload):
            case FitRun(value_pps=value, remark=remark):
                self._siblings.append(value)
                log = join_logs(replace(logs, remark=remark))
                return Blast(values={"pps": value} | self._boot_s(), log=log, facts=facts)
            case UnfitRun(flaw=Flaw.NO_TRAFFIC):
                self._blame_for_no_traffic(verdict.reason, workload)
            case UnfitRun(flaw=Flaw.FAR, value_pps=float() as value):
                self._siblings.append(value)
        raise InfraError(verdict.reason)

    def _searched(self, workload: str, facts: dict[str, str]) -> Blast:
        """The rates without loss of the booted kernel, their bounds as facts, and latencies."""
        own = self._settings.workloads[workload]
        rates: dict[str, float] = {}
        times: dict[str, float] = {}
        log, ndr_pps = "", None
        if own.latency is not None:
            need_library(*HISTOGRAMS)
        self._blaster.forget()
        if (loss := own.loss) is not None:
            found = self._alive_after(
                lambda: self._searches.rates(workload, loss),
                lambda: self._blame_for_no_traffic("no packet arrived", workload),
            )
            if (ndr_pps := found.ndr_pps) is None:
                self._blame(f"the kernel loses packets even at {loss.least_pps:.0f} pps")
            rates, log, facts = found.values, found.log, facts | found.facts
        if own.latency is not None:
            loads = own.latency.loads(ndr_pps)
            for one in self._alive_after(
                lambda: self._searches.latencies(workload, loads),
                lambda: self._blame_for_no_pings(workload, loads),
            ):
                times |= one.values
                log += one.log
            rates, times = (times, rates) if own.latency.judged else (rates, times)
        return Blast(values=rates | times | self._boot_s(), log=log, facts=facts)

    def _alive_after(self, action: Callable[[], _Result], blame: Callable[[], NoReturn]) -> _Result:
        """What an action under traffic gives; a DUT that does not outlive it is to blame first."""
        try:
            result = action()
        except NothingPassed:
            self._require_alive()
            blame()
        except InfraError:
            self._require_alive()
            raise
        self._require_alive()
        return result

    def _boot_s(self) -> dict[str, float]:
        """The seconds from the kernel's start until it was ready; nothing where no clock says."""
        up_s = self._boot.up_s if self._boot else None
        return {} if up_s is None else {BOOT.unit: up_s}

    def _require_alive(self) -> None:
        alive = self._machine().look()
        if alive is None or self._boot is None or not alive.same_boot(self._boot):
            panic = panic_in(self._console.recent())
            self._blame("the kernel did not outlive the traffic" + (f" ({panic})" if panic else ""))

    def counter(self) -> str:
        """The event that testbeds.toml names."""
        return self._settings.profile.event if self._settings.profile else ""

    def capture(self, workload: str) -> Profile:
        """Sample the kernel under the workload's traffic."""
        settings = self._settings
        if settings.profile is None:
            raise InfraError("no capture is set up", hint="write [testbeds.NAME.profile]")
        self._tell("traffic, to be sampled")
        self._blaster.forget()
        logs = self._home / "logs"
        sampler = Sampler(self._dut, settings.profile, settings.limits, logs)
        return sampler.capture(
            self._blaster, self._searches.sampled(workload, settings.profile.share)
        )

    def metrics(self) -> tuple[Metric, ...]:
        """Those of latencies, whose units are the workload's own."""
        latency = self._settings.workloads[self._workload].latency
        return latency.metrics() if latency is not None else ()

    def console(self) -> str:
        """What the ends of the traffic said, and the DUT's console from the boot to a fault.

        The console comes last: of a long text its reader keeps the end.
        """
        said = self._blaster.said()[-_TRAFFIC_SAID:]
        return f"{said}\n{self._last_words or self._console.text()}".strip()

    def shutdown(self) -> None:
        """Stop the traffic and the reading of the console; the DUT stays as it is."""
        try:
            self._blaster.stop()
        except InfraError as error:
            self._tell(f"could not stop the traffic: {error}")
        self._console.end()
        self._switchboard.close()

    def _upload(self, archive: KernelArchive, packed: Path) -> None:
        settings, names = self._settings, self._settings.dut.boot_environments
        if names is None:
            install_kernel(self._dut, settings.dut, settings.limits, packed, archive)
            self._configure()
            return
        self._configure()  # before it is cloned: the known-good kernel is to run on it as well
        make_environment(self._dut, names)
        with mounted(self._dut, names.under_test) as root:
            dut = replace(settings.dut, root=root)
            install_kernel(self._dut, dut, settings.limits, packed, archive)

    def _configure(self) -> None:
        settings = self._settings
        changed = self._configurator.configure(self._workload, self._home / "install")
        if settings.reference is not None and changed:
            self._restart(settings.reference.address)

    def _facts_of_the_boot(self) -> dict[str, str]:
        try:
            return dut_facts(self._dut, self._settings.dut)
        except Unreachable:
            return {}  # that it is gone is seen, and judged, after the traffic

    def _run(self, workload: str) -> RunLogs:
        self._tell("traffic")
        self._blaster.forget()
        return self._blaster.run(self._settings.traffic_of(workload))

    def _judge(self, logs: RunLogs, workload: str) -> FitRun | UnfitRun:
        traffic = self._settings.traffic_of(workload)
        return judge_run(
            logs,
            load_pps=traffic.load_pps,
            line_rate_pps=traffic.line_rate_pps,
            siblings=self._siblings,
        )

    def _blame(
        self, reason: str, again: Callable[[], str | None] | None = None, *, does: str = "boots"
    ) -> NoReturn:
        """The kernel is at fault if the known-good one now boots and is ready, and does it `again`.

        `again` says what is amiss with that.
        """
        self._last_words = self._console.text()
        try:
            self._life().recover()
            amiss = again() if again else None
        except InfraError as error:
            raise InfraError(f"{reason}; {error.message}", hint=error.hint) from error
        if amiss:
            raise InfraError(f"{reason}; with the known-good kernel: {amiss}")
        raise UntestableRevision(f"{reason}; the known-good kernel {does}")

    def _blame_for_no_traffic(self, reason: str, workload: str) -> NoReturn:
        """Likewise, if the known-good one passes traffic; a bounced link it may be as well."""

        def again() -> str:
            verdict = self._judge(self._run(workload), workload)
            if isinstance(verdict, UnfitRun) and verdict.value_pps is None:
                return verdict.reason
            return ""

        self._blame(reason, again, does=_PASSES)

    def _blame_for_no_pings(self, workload: str, loads: Mapping[str, float]) -> NoReturn:
        """Likewise, if with the known-good one pings come back at the first of the loads."""

        def again() -> str:
            try:
                self._searches.latencies(workload, dict([*loads.items()][:1]))
            except NothingPassed:
                return "none either: the DUT is to route them back to the port of the first sender"
            return ""

        self._blame("no ping came back", again, does=_PASSES)

    def _machine(self) -> RemoteMachine:
        workload = self._settings.workloads.get(self._workload)
        return RemoteMachine(
            remote=self._dut,
            limits=self._settings.limits,
            console=self._console,
            tell=self._tell,
            ready=workload.ready if workload else (),
            firewall=workload.firewall if workload else "",
            power=self._settings.power,
            script=self._choice.script,
        )

    def _life(self) -> Life:
        return Life(self._machine(), self._choice)

    def _restart(self, address: str) -> None:
        remote, limits = self._reach(address), self._settings.limits
        silent = Console(ConsoleSettings(), self._home)
        RemoteMachine(remote=remote, limits=limits, console=silent, tell=self._tell).restart()

    @property
    def _configurator(self) -> Configurator:
        return Configurator(settings=self._settings, reach=self._reach, ledger=self._ledger)

    @property
    def _choice(self) -> Choice:
        return choice_of(self._dut, self._settings.dut)

    @property
    def _dut(self) -> Remote:
        return self._reach(self._settings.dut.address)
