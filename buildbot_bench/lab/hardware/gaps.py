"""The settings that a hardware testbed still lacks in testbeds.toml."""

from collections.abc import Iterator
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.driver import CheckFinding
from buildbot_bench.lab.hardware.config_set import is_empty, parts_of
from buildbot_bench.lab.hardware.settings import SshSettings

_FAMILIES = 2  # of 'dual': inet and inet6, a sender each


def gaps(settings: SshSettings) -> list[CheckFinding]:
    """One finding for each thing that a measurement needs and that is not written down."""
    return [*_of_machines(settings), *_of_nanobsd(settings), *_of_traffic(settings)]


def require_complete(settings: SshSettings) -> None:
    """See that there is no gap."""
    if found := gaps(settings):
        raise UsageError(f"{found[0].subject}: {found[0].detail}", hint=found[0].remedy or "")


def _of_machines(settings: SshSettings) -> Iterator[CheckFinding]:
    dut, receiver = settings.dut, settings.receiver
    if not dut.address:
        yield _missing("dut.address", "give the name by which ssh reaches the DUT")
    if not dut.mac:
        yield _missing("dut.mac", "give the MAC of the DUT's port on the sender's side")
    if not settings.senders:
        yield _missing("senders", "write [[testbeds.NAME.senders]] with address, interface, mac")
    for number, sender in enumerate(settings.senders):
        for key in ("address", "interface", "mac"):
            if not getattr(sender, key):
                yield _missing(f"senders.{number}.{key}", f"give the sender's {key}")
    for key in ("address", "interface"):
        if not getattr(receiver, key):
            yield _missing(f"receiver.{key}", f"give the receiver's {key}")


def _of_nanobsd(settings: SshSettings) -> Iterator[CheckFinding]:
    dut = settings.dut
    if dut.is_nanobsd and not dut.saving and any(w.configs for w in settings.workloads.values()):
        yield _missing(
            "dut.save_config",
            "give the command that keeps /etc over a reboot, or write bsdrp = true on BSDRP",
        )
    if dut.slices is not None and not dut.upgrading:
        yield _missing(
            "dut.slices.upgrade",
            "give the command that writes an image from its standard input to the other slice,"
            " or write bsdrp = true on BSDRP",
        )


def _of_traffic(settings: SshSettings) -> Iterator[CheckFinding]:
    if not settings.workloads:
        yield _missing("workloads", "write [testbeds.NAME.workloads.forwarding]")
    for name, workload in settings.workloads.items():
        traffic = workload.traffic or settings.traffic
        if not workload.ready:
            yield _missing(
                f"workloads.{name}.ready",
                'give what succeeds on a ready DUT: [["ping", "-c", "2", "198.19.0.203"]]',
            )
        yield from _of_set(settings, f"workloads.{name}.configs", workload.configs)
        if not traffic.offered_pps:
            yield _missing(
                f"traffic.offered_pps (for {name})",
                "give what the senders bring about: run their pkt-gen and read Speed",
            )
        if traffic.family == "inet6" and workload.latency is not None:
            yield CheckFinding(
                subject=f"workloads.{name}.latency",
                detail="pkt-gen's ping stamps its frames where IPv6 has the address",
                remedy="take latency out, or make a workload of inet or dual",
            )
        if traffic.family == "dual" and len(settings.senders) < _FAMILIES:
            yield CheckFinding(
                subject=f"traffic.family (for {name})",
                detail="'dual' needs two senders",
                remedy="give two, or make two workloads, of inet and of inet6",
            )


def _of_set(settings: SshSettings, subject: str, configs: Path | None) -> Iterator[CheckFinding]:
    if configs is None:
        return
    if not configs.is_dir():
        yield CheckFinding(
            subject=subject,
            detail=f"there is no directory {configs}",
            remedy="name one that holds etc/ and boot/, or leave the key out",
        )
    elif is_empty(configs):
        yield CheckFinding(
            subject=subject,
            detail=f"{configs} holds no file",
            remedy="put etc/ or boot/ there, or leave the key out",
        )
    elif settings.reference is None and parts_of(configs).reference is not None:
        yield CheckFinding(
            subject=subject,
            detail=f"{configs} has a part for a reference endpoint, and there is none",
            remedy="write [testbeds.NAME.reference] with its address",
        )


def _missing(subject: str, remedy: str) -> CheckFinding:
    return CheckFinding(subject=subject, detail="missing", remedy=remedy)
