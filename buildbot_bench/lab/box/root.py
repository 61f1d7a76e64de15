"""What the disk of a box holds beside the userland: configuration, keys, the known-good kernel."""

from collections.abc import Sequence
from pathlib import Path

from buildbot_bench.lab.box.plan import Machine, network_lines

Files = dict[str, tuple[int, bytes]]  # modes and contents by names

_LOADER_CONF = """\
console="comconsole"
boot_serial="YES"
autoboot_delay="1"
beastie_disable="YES"
vfs.root.mountfrom="ufs:/dev/vtbd0p2"
debug.debugger_on_panic="0"
kern.panic_reboot_wait_time="1"
hint.uart.0.at="isa"
hint.uart.0.port="0x3F8"
hint.uart.0.irq="4"
hint.uart.0.flags="0x10"
"""
_FSTAB = "/dev/vtbd0p2 / ufs rw 1 1\n"
_PERMIT = "".join(f"{kind} required pam_permit.so\n" for kind in ("auth", "account", "session"))
_SSHD = """\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UseDNS no
UsePAM no
Subsystem sftp /usr/libexec/sftp-server
"""
_TTYS = 'console none unknown off secure\nttyu0 "/usr/libexec/getty std.115200" vt100 on secure\n'
_RC_CONF = """\
# One disk serves all machines of the box: the serial number says which one this is.
case "$(/bin/kenv -q smbios.system.serial)" in
{roles}
esac
ifconfig_vtnet0="inet 10.0.2.15/24"
sshd_enable="YES"
sshd_ecdsa_enable="NO"
sshd_rsa_enable="NO"
fsck_y_enable="YES"
background_fsck="NO"
syslogd_flags="-ss"
cron_enable="NO"
sendmail_enable="NONE"
dumpdev="NO"
entropy_boot_file="/boot/entropy"
"""


def box_files(
    all_machines: Sequence[Machine], host_key: Path, authorized: Path, kernel: Path
) -> Files:
    """The files by their names in the root, for a kernel that is unpacked in a directory."""
    roles = "\n".join(
        "\n".join((f"{machine.name})", *network_lines(all_machines, machine), ";;"))
        for machine in all_machines
    )
    texts = {
        "boot/loader.conf": _LOADER_CONF,
        "etc/fstab": _FSTAB,
        "etc/rc.conf": _RC_CONF.format(roles=roles),
        "etc/ssh/sshd_config": _SSHD,
        "etc/ttys": _TTYS,
        **{f"etc/pam.d/{name}": _PERMIT for name in ("login", "other")},
        "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    }
    files = {name: (0o644, text.encode()) for name, text in texts.items()}
    files["etc/ssh/ssh_host_ed25519_key"] = (0o600, host_key.read_bytes())
    files["root/.ssh/authorized_keys"] = (0o600, authorized.read_bytes())
    for path in sorted(kernel.iterdir()):
        if path.is_file() and path.name != "kernel.debug":
            files[f"boot/kernel/{path.name}"] = (0o555, path.read_bytes())
    return files
