"""The configuration sets of a testbed's machines, kept in step with the workload."""

from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.config_set import ConfiguredMachine, Ledger, LyingSet, parts_of
from buildbot_bench.lab.hardware.install import writable
from buildbot_bench.lab.hardware.settings import SshSettings
from buildbot_bench.lab.hardware.switchboard import Reach

# boot/ is on the disk at once; etc/ of nanobsd is in memory, and kept for both its slices.
_RECORD = "boot/bench-set"
_RECORD_OF_SLICES = "etc/bench-set"


@dataclass(frozen=True, kw_only=True, slots=True)
class Configurator:
    """Puts sets on the machines of a testbed; `ledger` remembers what lies where."""

    settings: SshSettings
    reach: Reach
    ledger: Ledger

    def configure(self, workload: str, scratch: Path) -> bool:
        """Have the workload's configuration set on, or none if it has none.

        A set may have a part for the reference endpoint as well. Returns whether that part changed,
        so that the reference endpoint has to be rebooted. InfraError when a set cannot be put on or
        taken off.
        """
        self._clear_strangers()
        parts = parts_of(self.settings.workloads[workload].configs)
        changed = False
        if self.settings.reference is not None:
            address = self.settings.reference.address
            lying = LyingSet(workload=workload, root=self.settings.reference.root, record=_RECORD)
            changed = self._replace(address, lying, parts.reference, scratch)
        self._replace(self.settings.dut.address, self._on_dut(workload), parts.dut, scratch)
        return changed

    def unconfigure(self) -> None:
        """Have no configuration set on the DUT."""
        self._replace(self.settings.dut.address, self._on_dut(""), None, Path())

    def _clear_strangers(self) -> None:
        """Take sets off the machines that belonged to the testbed once."""
        reference = self.settings.reference
        own = {self.settings.dut.address, reference.address if reference else ""}
        for address, lying in self.ledger.lying().items():
            if address in own:
                continue
            try:
                self._replace(address, lying, None, Path())
            except InfraError as error:
                raise InfraError(
                    f"the set of {lying.workload} still lies on {address}, which the testbed no"
                    f" longer names: {error.message}",
                    hint=f"have it answer, or remove {address} from the lab's sets.json",
                ) from error

    def _on_dut(self, workload: str) -> LyingSet:
        dut = self.settings.dut
        return LyingSet(
            workload=workload,
            root=dut.root,
            record=_RECORD if dut.slices is None else _RECORD_OF_SLICES,
            nanobsd=dut.is_nanobsd,
            saving=dut.saving,
        )

    def _replace(self, address: str, new: LyingSet, configs: Path | None, scratch: Path) -> bool:
        """Each step is kept over a reboot before the next: a job may die between any two.

        Returns whether anything changed.
        """
        machine = ConfiguredMachine(
            remote=self.reach(address),
            limits=self.settings.limits,
            root=new.root,
            record=new.record,
            renews_boot=new.record == _RECORD_OF_SLICES,
        )
        has_one = machine.has_a_set
        if has_one:
            with writable(machine.remote, nanobsd=new.nanobsd):
                machine.take_off()
            if new.saving:
                machine.remote.need(*new.saving)
            with writable(machine.remote, nanobsd=new.nanobsd):
                machine.forget()
        if configs is None:
            self.ledger.forget(address)
            return has_one
        self.ledger.note(address, new)
        with writable(machine.remote, nanobsd=new.nanobsd):
            machine.put_on(configs, scratch)
        if new.saving:
            machine.remote.need(*new.saving)
        return True
