"""The DUT's life: one boot of the kernel under test, and the return to the known-good one."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.errors import InfraError
from buildbot_bench.lab.hardware.alive import Alive
from buildbot_bench.lab.hardware.boot_watch import BootWatch
from buildbot_bench.lab.hardware.choice import Choice
from buildbot_bench.lab.hardware.reboot import KernelFault, RemoteMachine


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

        Raises:
            InfraError: If it fails.
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
        """See that the known-good kernel runs and is ready.

        Raises:
            InfraError: When it is not.
        """
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
                hint=self._advice(),
            ) from fault

    def _advice(self) -> str:
        if self._machine.power is None:
            return "there is no power driver: go and look, or give it one"
        return "see `bench-lab check`, then its console"
