"""One boot of the kernel under test on the DUT, verified, and the return to the known-good one."""

from collections.abc import Mapping, Sequence

from buildbot_bench.core.errors import InfraError, UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.lab.hardware.boot_watch import Alive, BootWatch
from buildbot_bench.lab.hardware.choice import Choice
from buildbot_bench.lab.hardware.install import KernelArchive, SliceImage
from buildbot_bench.lab.hardware.reboot import KernelFault, RemoteMachine
from buildbot_bench.lab.hardware.remote import Remote, read_sysctls
from buildbot_bench.lab.hardware.settings import DutSettings


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
#
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
