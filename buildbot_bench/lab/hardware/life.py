"""One boot of the kernel under test on the DUT, chosen and verified, and the return from it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.hardware.boot_watch import Alive, BootWatch
from buildbot_bench.lab.hardware.install import KernelArchive, SliceImage, writable
from buildbot_bench.lab.hardware.reboot import KERNEL_SCRIPT, KernelFault, RemoteMachine
from buildbot_bench.lab.hardware.remote import NO_DEBUGGER, Remote, read_sysctls
from buildbot_bench.lab.hardware.settings import (
    BootEnvironmentSettings,
    Command,
    DutSettings,
    SliceSettings,
)


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


class Life:
    """One DUT's kernels: those that are tried once, and the known-good one."""

    def __init__(self, machine: RemoteMachine, choice: Choice) -> None:
        self._machine = machine
        self._choice = choice

    def boot(self, name: str, tunables: Sequence[str]) -> Alive:
        """Boot what was installed under a name, once, and wait until it is ready.

        Raises KernelFault when it does not come up, InfraError when the lab cannot even try.
        """
        self._machine.console.begin()
        before = self._machine.look()
        if before is None:
            self.recover()
            before = self._machine.look()
        return self._boot_once(before, name, tunables)

    def prove_choice(self) -> None:
        """Boot a copy of the known-good kernel as kernels under test are.

        Without this a loader that does not heed nextboot.conf would make all revisions untestable.
        """
        self._machine.tell("seeing whether the known-good kernel boots in the same way")
        copy = self._choice.copy_known_good()
        try:
            self._boot_once(self._machine.look(), copy, ())
        except KernelFault as fault:
            raise InfraError(
                f"a copy of the known-good kernel does not boot in that way either: {fault}",
                hint=self._choice.advice,
            ) from fault

    def _boot_once(self, before: Alive | None, name: str, tunables: Sequence[str]) -> Alive:
        wanted = self._choice.once(name, tunables)
        self._machine.tell(f"rebooting {self._machine.remote.address} into {name}")
        self._machine.go_down()
        return self._machine.reach(before, wanted)

    def recover(self) -> None:
        """See that the known-good kernel runs and is ready."""
        self._machine.tell(f"going back to the known-good kernel of {self._machine.remote.address}")
        self._machine.console.mark()
        before = self._machine.look()
        if before is None:
            if self._machine.power is not None:
                self._machine.cycle_power()
        elif before.bootfile != self._choice.known_good:
            self._choice.undo()
            self._machine.go_down()
        try:
            if before is not None and before.bootfile == self._choice.known_good:
                self._machine.await_ready(BootWatch(None, before.bootfile))
            else:
                self._machine.reach(before, self._choice.known_good)
        except KernelFault as fault:
            raise InfraError(
                f"the known-good kernel does not come up: {fault}",
                hint="there is no power driver: go and look, or give it one"
                if self._machine.power is None
                else "see `bench-lab check`, then its console",
            ) from fault


# The archive's labels came from file names, and 43 of its 991 results belong to another kernel.
# Both stand in the kernel's file as they are told: uname -v, and its configuration if it has it.
_SELF_DESCRIPTIONS = ("kern.version", "kern.conftxt")


class AnotherKernelError(InfraError):
    """A host runs a kernel that is not the one that it should."""

    def __init__(self, remote: Remote, what: str) -> None:
        hint = "what is measured now would be another kernel's"
        super().__init__(f"{remote.address} {what}", hint=hint)


def verify_kernel(remote: Remote, dut: DutSettings, archive: KernelArchive) -> None:
    """Compare file name, file and self-descriptions."""
    values = read_sysctls(remote, "kern.bootfile", *_SELF_DESCRIPTIONS)
    bootfile = values.get("kern.bootfile", "")
    if bootfile != archive.bootfile:
        raise AnotherKernelError(
            remote, f"runs {bootfile or 'nothing known'}, not {archive.bootfile}"
        )
    installed = remote.run("sha256", "-q", dut.path(bootfile.lstrip("/"))).stdout.strip()
    if installed != archive.kernel_digest:
        found = installed[:12] or "no such file"
        raise AnotherKernelError(
            remote, f"has {found} as {bootfile}, not {archive.kernel_digest[:12]}"
        )
    _compare_descriptions(remote, archive, values)


def verify_image(remote: Remote, image: SliceImage) -> None:
    """Compare the running kernel's self-descriptions with an image; InfraError for another's.

    That it runs from the slice under test was seen when it booted.
    """
    _compare_descriptions(remote, image, read_sysctls(remote, *_SELF_DESCRIPTIONS))


def set_tunables(remote: Remote, tunables: Sequence[str]) -> None:
    """See that each NAME=VALUE is set; what the loader could not set is set now."""
    names = [setting.split("=", 1)[0] for setting in tunables]
    values = read_sysctls(remote, *names) if names else {}
    for setting in tunables:
        name, value = setting.split("=", 1)
        if values.get(name) == value:
            continue
        answer = remote.run("sysctl", setting)
        if answer.status != 0:
            raise UntestableRevision(f"{setting} cannot be set: {answer.complaint}")


def _compare_descriptions(
    remote: Remote, artefact: KernelArchive | SliceImage, values: Mapping[str, str]
) -> None:
    for name in _SELF_DESCRIPTIONS:
        if not artefact.holds(values.get(name, "")):
            line = values[name].splitlines()[0]
            raise AnotherKernelError(
                remote, f"says of itself {quoted(line, columns=120)}, which is not in the kernel"
            )


_SCHEME = re.compile(r"^=> *\d+ +\d+ +\S+ +(\S+) +\(", re.ASCII | re.MULTILINE)
_CONTROL = "bench.control"
_ROOT_SCRIPT = 'mount -p | while read -r device on rest; do [ "$on" != / ] || echo "$device"; done'


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
_ENVIRONMENT_SCRIPT = (
    'mount -p | while read -r device on rest; do [ "$on" != / ] || echo "${device##*/}"; done'
)
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

    script = _ENVIRONMENT_SCRIPT
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
