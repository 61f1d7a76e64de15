"""How it is said which kernel a machine boots next, and seen which one runs; it reboots nothing.

Either way the choice is heeded once: after a panic, a hang or a power cycle the machine falls back
to what is known to be good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.install import writable
from buildbot_bench.lab.hardware.reboot import KERNEL_SCRIPT
from buildbot_bench.lab.hardware.remote import Remote
from buildbot_bench.lab.hardware.settings import DutSettings, SliceSettings

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

    def undo(self) -> None:
        """Have the next boot be that of the known-good one."""

    def copy_known_good(self) -> str:
        """Install the known-good one once more; returns its name. InfraError where it cannot."""


class NamedKernels:
    """Kernels in directories of /boot, chosen by nextboot(8)."""

    script = KERNEL_SCRIPT

    def __init__(self, remote: Remote, dut: DutSettings) -> None:
        self._remote = remote
        self._dut = dut
        self.known_good = dut.known_good_file

    def once(self, name: str, tunables: Sequence[str]) -> str:
        """The loader heeds nextboot.conf at the next boot alone, tunables included."""
        settings = [word for setting in tunables for word in ("-e", setting)]
        with writable(self._remote, nanobsd=self._dut.nanobsd):
            self._remote.need("nextboot", *settings, "-k", name)
        return f"/boot/{name}/kernel"

    def undo(self) -> None:
        """Forget what nextboot was told."""
        with writable(self._remote, nanobsd=self._dut.nanobsd):
            self._remote.run("nextboot", "-D")

    def copy_known_good(self) -> str:
        """A copy under another name, which boots as kernels under test do."""
        boot = self._dut.path("boot")
        with writable(self._remote, nanobsd=self._dut.nanobsd):
            self._remote.need("rm", "-rf", f"{boot}/{_CONTROL}")
            self._remote.need("cp", "-R", f"{boot}/{self._dut.known_good}", f"{boot}/{_CONTROL}")
        return _CONTROL


def choice_of(remote: Remote, dut: DutSettings) -> Choice:
    """How this DUT chooses."""
    return NamedKernels(remote, dut) if dut.slices is None else Slices(remote, dut.slices)


class Slices:
    """Whole images in the two slices of nanobsd, told apart by the device / is mounted from."""

    script = _ROOT_SCRIPT

    def __init__(self, remote: Remote, slices: SliceSettings) -> None:
        self._remote = remote
        self._slices = slices
        self.known_good = slices.known_good

    def once(self, name: str, tunables: Sequence[str]) -> str:  # noqa: ARG002 - there is but one
        """Tunables are set afterwards: the loader's own are those of the configuration set."""
        for command in self._slices.boot_once:
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
            hint="see whether boot_once is heeded, and give the DUT a console",
        )
