"""A new box: keys, ports, one disk for all machines, and the files of the ssh driver."""

import hashlib
import json
import shutil
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from buildbot_bench.archives.disk import copy_sparsely, make_disk, program_at, run_tool
from buildbot_bench.archives.unpacked import unpack
from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.installed import shipped
from buildbot_bench.lab.box.machines import (
    DUT,
    LAYOUTS,
    LabBox,
    Machine,
    box_files,
    ends,
    link_socket,
    machines,
)
from buildbot_bench.lab.files import replace_text

_BOX = "box.json"
KERNEL = "known-good.txz"  # as it was given
DISK_MIB = 900  # a userland, and kernels with their modules
# Below the range that systems choose from for connections, from 32768 on Linux.
_SSH_PORTS = range(20022, 30000)
_OFFERED_PPS, _DURATION_S = 2000, 30  # what a busy host forwards; `fit` finds what this one does
_IN_WORLD = ("boot/pmbr", "boot/gptboot", "boot/loader", "sbin/init", "usr/sbin/sshd")


def make_box(
    home: Path,
    *,
    world: Path,
    kernel: Path,
    count: int,
    program: str,
    accelerator: str,
    disk_mib: int,
    say: Callable[[str], object],
) -> None:
    """Make a box in the directory `home`, of a world and a kernel archive that is known good."""
    _check(home, world, kernel, count, program)
    _need_room(home, disk_mib * (count + 3))
    names = tuple(LAYOUTS[count])
    all_machines = machines(home, dict(zip(names, _free_ports(home, count), strict=True)))
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    say("keys …")
    for name in ("key", "host-key"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "box"]
        run_tool([*words, "-f", str(home / name)])
    say("disk …")
    unpacked = home / "kernel"
    unpack(kernel, unpacked)
    public = home / "key.pub"
    files = box_files(all_machines, home / "host-key", public, unpacked)
    disk = home / "disk.img"
    make_disk(world / "root", files, disk, size_mib=disk_mib)
    shutil.rmtree(unpacked)
    shutil.copyfile(kernel, home / KERNEL)
    for machine in all_machines:
        machine.home.mkdir(parents=True)
        with disk.open("rb") as whole, machine.disk.open("wb") as own:
            copy_sparsely(whole, own)  # its end is the table of partitions, which is no hole
    disk.unlink()
    shutil.copytree(shipped("workers/lab/workloads"), home / "workloads")
    replace_text(home / "ssh_config", _ssh_config(home, all_machines))
    replace_text(home / "testbeds.toml", testbeds_toml(home, all_machines))
    ports = {machine.name: machine.ssh_port for machine in all_machines}
    kept = {"program": program, "accelerator": accelerator, "ssh_ports": ports}
    replace_text(home / _BOX, json.dumps(kept))


def load_box(home: Path) -> LabBox:
    """Read the box in the directory `home`."""
    try:
        kept = json.loads((home / _BOX).read_text(encoding="utf-8"))
        ports = {str(name): int(port) for name, port in kept["ssh_ports"].items()}
        return LabBox(
            program=str(kept["program"]),
            accelerator=str(kept["accelerator"]),
            machines=machines(home, ports),
        )
    except (OSError, ValueError, LookupError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{home} is no box: it has no {_BOX} that can be read",
            hint="make one by `bench-lab box init`",
        ) from error


def _check(home: Path, world: Path, kernel: Path, count: int, program: str) -> None:
    if home.exists() and any(home.iterdir()):
        raise UsageError(f"{home} is not empty", hint="name a new directory")
    for name in LAYOUTS[count]:
        link_socket(home, name, "a")
    for name in _IN_WORLD:
        if not (world / "root" / name).is_file():
            hint = "name what `bench-build world` printed"
            raise UsageError(f"{world} is no world: it has no {name}", hint=hint)
    if not kernel.is_file():
        raise UsageError(f"there is no {kernel}", hint="build one by `bench-build freebsd`")
    packages = {"makefs": "makefs", "ssh-keygen": "openssh-client", program: "qemu-system-x86"}
    for name, package in packages.items():
        if program_at(name) is None:
            raise InfraError(f"there is no {name}", hint=f"install it; Debian: {package}")


def _need_room(home: Path, needed_mib: int) -> None:
    place = next(path for path in (home, *home.parents) if path.is_dir())
    free_mib = shutil.disk_usage(place).free >> 20
    if free_mib < needed_mib:
        raise InfraError(f"{free_mib} MiB are free at {place}, {needed_mib} are needed")


def _free_ports(home: Path, count: int) -> list[int]:
    """Ports of the loopback interface at which nobody listens; each box begins at another one."""
    first = int.from_bytes(hashlib.sha256(bytes(home)).digest()[:4]) % len(_SSH_PORTS)
    found: list[int] = []
    for port in (*_SSH_PORTS[first:], *_SSH_PORTS[:first]):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise InfraError("all ports are taken", hint="end a few programs that listen")


def _ssh_config(home: Path, all_machines: Sequence[Machine]) -> str:
    replace_text(home / "known_hosts", f"box {(home / 'host-key.pub').read_text()}")
    hosts = "".join(
        f"Host {machine.name}\n    Port {machine.ssh_port}\n" for machine in all_machines
    )
    return f"""\
{hosts}Host *
    HostName 127.0.0.1
    HostKeyAlias box
    User root
    IdentityFile "{home / "key"}"
    IdentitiesOnly yes
    UserKnownHostsFile "{home / "known_hosts"}"
    StrictHostKeyChecking yes
"""


def testbeds_toml(home: Path, all_machines: Sequence[Machine]) -> str:
    """The testbed of a box, as the ssh driver reads it."""
    dut = next(machine for machine in all_machines if machine.name == DUT)
    sender, sends = ends(all_machines)["sender"]
    receiver, receives = ends(all_machines)["receiver"]
    command = [sys.executable, "-m", "buildbot_bench.lab.cli", "box"]
    tables: Mapping[str, Mapping[str, object]] = {
        "": {
            "driver": "ssh",
            "description": "FreeBSD machines in QEMU: an emulated lab",
            "epoch": "1",
            "ssh_config": "ssh_config",
        },
        "dut": {
            "address": DUT,
            "mac": dut.ports[0].mac,
            "interfaces": [port.name for port in dut.ports],
        },
        "receiver": {"address": receiver.name, "interface": receives.name, "mac": receives.mac},
        # Without a limit an emulated port takes all packets at once.
        "traffic": {"offered_pps": _OFFERED_PPS, "duration_s": _DURATION_S, "paced": True},
        "power": {
            "driver": "command",
            "cycle_command": [*command, "cycle", str(home), DUT],
            "status": [*command, "status", str(home)],
        },
        "console": {"file": str(dut.console_log)},
    }
    text = "# A lab in a box; `bench-lab box up` first.\n"
    for name, keys in tables.items():
        text += _table(f"testbeds.box.{name}".rstrip("."), keys)
    text += "\n[[testbeds.box.senders]]\n"
    text += _keys({"address": sender.name, "interface": sends.name, "mac": sends.mac})
    for path in sorted((home / "workloads").iterdir()):
        if path.is_dir():
            own: dict[str, object] = {"configs": f"workloads/{path.name}"}
            text += _table(f"testbeds.box.workloads.{path.name}", own)
            if path.name.endswith("inet6"):
                ipv6 = f'family = "inet6", offered_pps = {_OFFERED_PPS}, paced = true'
                text += f"traffic = {{{ipv6}}}\n"
    return text


def _table(name: str, keys: Mapping[str, object]) -> str:
    return f"\n[{name}]\n{_keys(keys)}"


def _keys(keys: Mapping[str, object]) -> str:
    """Lines of TOML: a string of JSON, and a list of such strings, is one of TOML as well."""
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
