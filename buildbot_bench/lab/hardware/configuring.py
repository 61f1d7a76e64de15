"""Which configuration set is on which machine of a testbed, and kept there; it reboots none.

A workload without a set must not run on the settings of the one before it: what an earlier job put
on is taken off first.
"""

from __future__ import annotations

from pathlib import Path

from buildbot_bench.lab.hardware.config_set import ConfiguredMachine
from buildbot_bench.lab.hardware.install import writable
from buildbot_bench.lab.hardware.settings import DutSettings, SshSettings
from buildbot_bench.lab.hardware.switchboard import Reach

# boot/ is on the disk at once; etc/ of nanobsd is in memory, and kept for both its slices.
_RECORD = "boot/bench-set"
_RECORD_OF_SLICES = "etc/bench-set"


def configure(settings: SshSettings, reach: Reach, workload: str, scratch: Path) -> bool:
    """Have the workload's configuration set on, or none if it has none.

    With a reference endpoint a set has a part for each, `dut/` and `reference/`. Returns whether
    the reference endpoint's part changed, so that it has to be rebooted.
    """
    configs = settings.workloads[workload].configs
    theirs, changed = None, False
    if settings.reference is not None:
        if configs is not None and (configs / "reference").is_dir():
            configs, theirs = configs / "dut", configs / "reference"
        machine = ConfiguredMachine(
            remote=reach(settings.reference.address),
            limits=settings.limits,
            root=settings.reference.root,
            record=_RECORD,
        )
        changed = machine.has_a_set or theirs is not None
        _replace(machine, theirs, scratch)
    _replace(_dut(settings, reach), configs, scratch, kept_by=settings.dut)
    return changed


def unconfigure(settings: SshSettings, reach: Reach) -> None:
    """Have no configuration set on the DUT."""
    _replace(_dut(settings, reach), None, Path(), kept_by=settings.dut)


def _dut(settings: SshSettings, reach: Reach) -> ConfiguredMachine:
    dut = settings.dut
    return ConfiguredMachine(
        remote=reach(dut.address),
        limits=settings.limits,
        root=dut.root,
        record=_RECORD if dut.slices is None else _RECORD_OF_SLICES,
        renews_boot=dut.slices is not None,
    )


def _replace(
    machine: ConfiguredMachine,
    configs: Path | None,
    scratch: Path,
    *,
    kept_by: DutSettings | None = None,
) -> None:
    """Each step is kept over a reboot before the next: a job may die between any two."""
    nanobsd = kept_by is not None and kept_by.is_nanobsd
    saving = kept_by.saving if kept_by is not None else ()
    if machine.has_a_set:
        with writable(machine.remote, nanobsd=nanobsd):
            machine.take_off()
        if saving:
            machine.remote.need(*saving)
        with writable(machine.remote, nanobsd=nanobsd):
            machine.forget()
    if configs is not None:
        with writable(machine.remote, nanobsd=nanobsd):
            machine.put_on(configs, scratch)
        if saving:
            machine.remote.need(*saving)
