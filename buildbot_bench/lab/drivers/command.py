"""The driver of testbeds that run a command; a boot is a freshly unpacked artefact."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from buildbot_bench.archives.unpacked import unpack
from buildbot_bench.core.errors import BenchError, InfraError, UntestableRevision, UsageError
from buildbot_bench.core.metric import Metric, overall
from buildbot_bench.lab.command.iteration import run_iteration
from buildbot_bench.lab.command.machine import look_at_machine, look_at_workload, machine_facts
from buildbot_bench.lab.command.settings import CommandSettings, CommandWorkload
from buildbot_bench.lab.driver import Blast, CheckFinding, unheard
from buildbot_bench.lab.files import check_digest, copy_verified
from buildbot_bench.lab.tables import nearest


class CommandDriver:
    """Runs what a project's build made, as the testbed's workloads say."""

    SETTINGS = CommandSettings

    def __init__(
        self, settings: CommandSettings, home: Path, tell: Callable[[str], None] = unheard
    ) -> None:
        self._settings = settings
        self._home = home
        self._tell = tell
        self._artefact = home / "artefact"
        self._directory = home / "unpacked"
        self._digest = ""
        self._workload: CommandWorkload | None = None
        self._tunables: dict[str, str] = {}
        self._said = ""
        self._executions = 0

    def workloads(self) -> tuple[str, ...]:
        """Those of testbeds.toml."""
        return tuple(self._settings.workloads)

    def metrics(self) -> tuple[Metric, ...]:
        """What the prepared workload gives, or all of them; a suite's runs say it themselves."""
        chosen = [self._workload] if self._workload else self._settings.workloads.values()
        return tuple(workload.metric for workload in chosen if not workload.is_suite)

    def check(self) -> list[CheckFinding]:
        """The machine, and what each workload needs of it."""
        findings = list(look_at_machine(self._home))
        for name, workload in self._settings.workloads.items():
            findings += look_at_workload(name, workload)
        return findings

    def facts(self) -> dict[str, str]:
        """The machine, and how the prepared workload is run."""
        return machine_facts(self._workload)

    def prepare(self, workload: str) -> None:
        """Choose the workload."""
        self._workload = self._chosen(workload)

    def install(self, artefact: Path, digest: str) -> None:
        """Keep the artefact, which is unpacked at each boot."""
        copy_verified(artefact, self._artefact, digest)
        self._digest = digest

    def tune(self, tunables: Sequence[str]) -> None:
        """Give them to the commands as their environment."""
        self._tunables = dict(setting.split("=", 1) for setting in tunables)

    def boot(self) -> None:
        """Unpack the artefact into a fresh directory; nothing is started yet.

        UntestableRevision comes of what cannot be unpacked.
        """
        self._said = ""
        self._remove()
        try:
            unpack(self._artefact, self._directory)
        except OSError as error:
            raise InfraError(
                f"cannot unpack the artefact: {error}", hint="see whether the disk is full"
            ) from error

    def verify(self) -> None:
        """See that what was unpacked is what was asked for."""
        check_digest(self._artefact, self._digest)

    def blast(self, workload: str) -> Blast:
        """Run the workload's command once; its value in the workload's unit.

        Of a suite, whose values are `named`, it is their geometric mean. What fails has the last
        lines of what it printed in the console.
        """
        chosen = self._chosen(workload)
        environment = {**chosen.environment, **self._tunables}
        try:
            blast = run_iteration(
                replace(chosen, environment=environment),
                self._directory,
                self._tell,
                self._executions,
            )
        except BenchError as error:
            first, _, self._said = error.message.partition("\n")
            # More values than are kept: the revision prints them.
            kind = UntestableRevision if isinstance(error, UsageError) else type(error)
            raise kind(first, hint=error.hint) from error
        self._executions = blast.times.executions if blast.times else 0
        if not chosen.is_suite:
            return blast
        mean = overall(blast.named)
        if mean is None:
            raise UntestableRevision(f"none of its {len(blast.named):,} values is above 0")
        metric, value = mean
        return replace(blast, values={metric.unit: value})

    def console(self) -> str:
        """The last lines of a run that failed."""
        return self._said

    def shutdown(self) -> None:
        """Remove what was unpacked; what ran is over."""
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)

    def _chosen(self, name: str) -> CommandWorkload:
        workloads = self._settings.workloads
        if name not in workloads:
            raise InfraError(f"no such workload: {name}", hint=nearest(name, workloads))
        return workloads[name]
