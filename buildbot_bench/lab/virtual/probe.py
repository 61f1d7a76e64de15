"""The test whether QEMU boots a machine here, and whether KVM works."""

import os
from pathlib import Path

from buildbot_bench.lab.drivers.child import ChildProcess, last_cpu
from buildbot_bench.lab.virtual.machine import loading, option_value, qemu
from buildbot_bench.lab.virtual.plugin import Plugin

KVM_DEVICE = Path("/dev/kvm")
# It takes half a second, and several on a busy machine; a KVM that is emulated itself may take ten.
LIMIT_S, KVM_LIMIT_S = 60.0, 5.0
_WORD = b"booted\n\0"
_CODE = bytes.fromhex(
    "31c0 8ed8"  # xor ax, ax; mov ds, ax
    "be167c"  # mov si, the word behind the code
    "baf803"  # mov dx, the serial port
    "ac 84c0 7403 ee ebf8"  # each byte of the word to the port
    "fa f4 ebfc"  # cli; hlt, for ever
)
_READS_AT = 0x7C00 + _CODE.index(b"\xac")  # lodsb, which takes a byte of the word
_SECTOR = (_CODE + _WORD).ljust(510, b"\0") + b"\x55\xaa"  # a boot sector: 512 bytes and its magic


def boots(
    program: str,
    home: Path,
    accelerator: str,
    limit_s: float = LIMIT_S,
    plugin: Plugin | None = None,
) -> bool:
    """Whether a boot sector says its word in time; InfraError when there is no QEMU."""
    console, sector = home / "logs" / "probe.out", home / "boot" / "probe"
    for path, content in ((console, b""), (sector, _SECTOR)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    command = [str(qemu(program, home)), "-nodefaults", "-no-user-config", "-display", "none"]
    command += ["-no-reboot", "-m", "16", "-accel", accelerator, "-serial", f"file:{console}"]
    command += ["-drive", f"file={option_value(sector)},format=raw,if=ide"]
    command += [] if plugin is None else loading(plugin)
    child = ChildProcess(
        command,
        home / "logs" / "probe-qemu.out",
        cpu=last_cpu(),
        lifetime_s=2 * limit_s,
        pass_fds=[] if plugin is None else [plugin.descriptor],
    )
    try:
        return child.wait_until(lambda: _WORD[:-1] in console.read_bytes(), limit_s)
    finally:
        child.kill()


def kvm_works(program: str, home: Path) -> bool:
    """Whether guests run by KVM here, and do not hang or crawl where its device opens."""
    return os.access(KVM_DEVICE, os.R_OK | os.W_OK) and boots(program, home, "kvm", KVM_LIMIT_S)


def counts_instructions(program: str, home: Path, plugin: Plugin) -> bool:
    """Whether this QEMU loads the plugin, and counts by it the instructions of a boot sector."""
    plugin.switch_on()
    # The last byte, which says that it is the end, may not have been read yet.
    return boots(program, home, "tcg", plugin=plugin) and (
        len(_WORD) - 1 <= plugin.read()[_READS_AT] <= len(_WORD)
    )
