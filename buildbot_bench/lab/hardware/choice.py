"""The choice of the kernel that a machine boots once, by nextboot or a ZFS boot environment."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.install import writable
from buildbot_bench.lab.hardware.reboot import KERNEL_SCRIPT
from buildbot_bench.lab.hardware.remote import NO_DEBUGGER, Remote
from buildbot_bench.lab.hardware.settings import (
    BootEnvironmentSettings,
    Command,
    DutSettings,
    SliceSettings,
)

_SCHEME = re.compile(r"^=> *\d+ +\d+ +\S+ +(\S+) +\(", re.ASCII | re.MULTILINE)
_CONTROL = "bench.control"
_ROOT_SCRIPT = 'mount -p | while read -r device on rest; do [ "$on" != / ] || echo "$device"; done'


class Choice(Protocol):
    """What a machine can boot; names are those that `script`, run there, prints."""

    @property
    def script(self) -> str:
        """A line of sh(1) that prints what runs now."""

    @property
    def known_good(self) -> str:
        """What runs when nothing was chosen."""

    def once(self, name: str, tunables: Sequence[str]) -> str:
        """Have the next boot be that of what was installed under a name; returns what runs then."""

    @property
    def advice(self) -> str:
        """What to look for when not even the known-good one boots in this way."""

    def undo(self) -> None:
        """Have the next boot be that of the known-good one."""

    def copy_known_good(self) -> str:
        """Install the known-good one once more; returns its name. InfraError where it cannot."""


class NamedKernels:
    """Kernels in directories of /boot, chosen by nextboot(8)."""

    script = KERNEL_SCRIPT
    advice = "see whether the loader reads /boot/nextboot.conf"

    def __init__(self, remote: Remote, dut: DutSettings) -> None:
        self._remote = remote
        self._dut = dut
        self.known_good = dut.known_good_file

    def once(self, name: str, tunables: Sequence[str]) -> str:
        """The loader heeds nextboot.conf at the next boot alone, tunables included."""
        settings = [word for setting in (NO_DEBUGGER, *tunables) for word in ("-e", setting)]
        with writable(self._remote, nanobsd=self._dut.is_nanobsd):
            self._remote.need("nextboot", *settings, "-k", name)
        return f"/boot/{name}/kernel"

    def undo(self) -> None:
        """Forget what was set for nextboot."""
        with writable(self._remote, nanobsd=self._dut.is_nanobsd):
            self._remote.run("nextboot", "-D")

    def copy_known_good(self) -> str:
        """A copy under another name, which boots as kernels under test do."""
        boot = self._dut.path("boot")
        with writable(self._remote, nanobsd=self._dut.is_nanobsd):
            self._remote.need("rm", "-rf", f"{boot}/{_CONTROL}")
            self._remote.need("cp", "-R", f"{boot}/{self._dut.known_good}", f"{boot}/{_CONTROL}")
        return _CONTROL


def choice_of(remote: Remote, dut: DutSettings) -> Choice:
    """How this DUT chooses."""
    if dut.slices is not None:
        return Slices(remote, dut.slices)
    if dut.boot_environments is not None:
        return BootEnvironments(remote, dut, dut.boot_environments)
    return NamedKernels(remote, dut)


def require_gpt(remote: Remote, command: Command) -> None:
    """See that a command of gpart(8), GEOM last, sets `bootonce` where it can be.

    Sources: lib/geom/part/geom_part.c for what `gpart show` prints, sys/geom/part/g_part_gpt.c.
    """
    geom = command[-1]
    shown = _SCHEME.search(remote.need("gpart", "show", geom))
    scheme = shown[1] if shown else "none that gpart shows"
    if scheme != "GPT":
        raise InfraError(
            f"{geom} has scheme {scheme}, and bootonce is an attribute of GPT's",
            hint="put nanobsd on a GPT, or leave slices out: kernels beside the known-good one are"
            " booted once by nextboot, on any scheme",
        )


class Slices:
    """Whole images in the two slices of nanobsd, distinguished by the device / is mounted from."""

    script = _ROOT_SCRIPT
    advice = "see whether boot_once is heeded, and give the DUT a console"

    def __init__(self, remote: Remote, slices: SliceSettings) -> None:
        self._remote = remote
        self._slices = slices
        self.known_good = slices.known_good

    def once(self, name: str, tunables: Sequence[str]) -> str:  # noqa: ARG002 - there is but one
        """Tunables are set afterwards: the loader's own are those of the configuration set."""
        for command in self._slices.boot_once:
            if "bootonce" in command:
                require_gpt(self._remote, command)
            self._remote.need(*command)
        return self._slices.under_test

    def undo(self) -> None:
        """Make the known-good slice the one that is booted."""
        for command in self._slices.go_back:
            self._remote.run(*command)

    def copy_known_good(self) -> str:
        """There is no room for a third image."""
        raise InfraError(
            "the DUT came back on its known-good slice, and nothing shows why",
            hint=self.advice,
        )


# / is mounted from POOL/ROOT/NAME.
_SCRIPT = 'mount -p | while read -r device on rest; do [ "$on" != / ] || echo "${device##*/}"; done'
_MOUNTED = re.compile(r"^Successfully mounted \S+ at (/\S*)$", re.MULTILINE)
# What the clone had itself is kept beside it: each boot may have other lines of ours.
_LOADER_SCRIPT = r"""
set -e
cd "$1"
if [ ! -e loader.conf.before ]; then
    cp -p loader.conf.local loader.conf.before 2>/dev/null || : >loader.conf.before
fi
shift
{ cat loader.conf.before; printf '%s\n' "$@"; } >loader.conf.local
"""


class BootEnvironments:
    """Two environments; the kernel under test lies in the one that is made anew for each job."""

    script = _SCRIPT
    advice = "see whether the loader heeds `bectl activate -t`, as FreeBSD's own does"

    def __init__(self, remote: Remote, dut: DutSettings, names: BootEnvironmentSettings) -> None:
        self._remote = remote
        self._dut = dut
        self._names = names
        self.known_good = names.known_good

    def once(self, name: str, tunables: Sequence[str]) -> str:
        """The loader reads the environment's own settings: kernel and tunables stand there."""
        settings = (NO_DEBUGGER, *tunables, f"kernel={name}")
        lines = ['{}="{}"'.format(*setting.split("=", 1)) for setting in settings]
        with mounted(self._remote, self._names.under_test) as root:
            self._remote.script(_LOADER_SCRIPT, f"{root}/boot", *lines)
        self._remote.need("bectl", "activate", "-t", self._names.under_test)
        return self._names.under_test

    def undo(self) -> None:
        """Forget the activation."""
        self._remote.run("bectl", "activate", "-T")

    def copy_known_good(self) -> str:
        """The clone has the known-good kernel, too."""
        return self._dut.known_good


def make_environment(remote: Remote, names: BootEnvironmentSettings) -> None:
    """Clone the known-good environment, which must run, in the place of the last job's clone."""
    remote.run("bectl", "umount", "-f", names.under_test)
    remote.run("bectl", "destroy", "-F", "-o", names.under_test)
    remote.need("bectl", "create", "-e", names.known_good, names.under_test)


@contextmanager
def mounted(remote: Remote, name: str) -> Iterator[str]:
    """Where an environment is mounted for the length of a block."""
    mounted = _MOUNTED.search(remote.need("bectl", "mount", name))
    if mounted is None:
        raise InfraError(
            f"{remote.address}: bectl does not say where it mounted {name}",
            hint=f"try `bectl mount {name}` there",
        )
    try:
        yield mounted[1]
    finally:
        remote.need("bectl", "umount", name)


def has_environment(remote: Remote, name: str) -> bool:
    """Whether `bectl list` names it."""
    lines = remote.run("bectl", "list", "-H").stdout.splitlines()
    return name in [line.partition("\t")[0] for line in lines]
