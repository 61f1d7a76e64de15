"""The interface of drivers, each of which operates one kind of testbed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from buildbot_bench.core.metric import Metric, RunTimes
from buildbot_bench.core.profile.model import Profile


@dataclass(frozen=True, kw_only=True, slots=True)
class Blast:
    """What one run of traffic gave: the primary unit first, and the receiver's log.

    `facts` are what the set-up reported on this very boot, and before it could not; `times` what
    the clocks say of the run of a command. `named` are the values of a suite, where it has many.
    """

    values: dict[str, float]
    log: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    times: RunTimes | None = None
    named: Mapping[Metric, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckFinding:
    """One line of a testbed's check-up: what was looked at, and how to fix it if it is amiss."""

    subject: str
    detail: str
    remedy: str | None = None

    @property
    def fine(self) -> bool:
        """Whether there is nothing to fix."""
        return self.remedy is None


class Driver(Protocol):
    """One testbed: a DUT, its sender and its receiver.

    The verbs are called in the order of `Dut`. Each raises UntestableRevision when the kernel is
    to blame and InfraError when the lab is, and none waits without a deadline.
    """

    def workloads(self) -> tuple[str, ...]:
        """The workloads that this testbed can run."""

    def check(self) -> list[CheckFinding]:
        """Look at everything that a run needs, without a run."""

    def facts(self) -> dict[str, str]:
        """The set-up that is recorded with each job: machine, versions, settings.

        Asked before the first boot; what depends on the booted kernel comes with a Blast.
        """

    def prepare(self, workload: str) -> None:
        """Have the next boots be those of a workload; called first, and touches nothing yet."""

    def install(self, artefact: Path, digest: str) -> None:
        """Put a kernel (SHA-256 in hexadecimal) where the next boot finds it."""

    def tune(self, tunables: Sequence[str]) -> None:
        """Have each NAME=VALUE set at every boot; UntestableRevision for what cannot be set here.

        Called before `install`, and only when there are tunables.
        """

    def boot(self) -> None:
        """Start the installed kernel afresh and wait until it takes traffic."""

    def verify(self) -> None:
        """Make sure that what runs is what was installed; InfraError when it is not."""

    def blast(self, workload: str) -> Blast:
        """Send the workload's traffic through the DUT and count what comes back."""

    def console(self) -> str:
        """What the kernel printed since its last boot; empty when nothing is known."""

    def shutdown(self) -> None:
        """Stop all that was started; never raises, and may be called at any time."""


class DriverKind(Protocol):
    """What an entry point of `buildbot_bench.drivers` names: a class of drivers.

    `SETTINGS` is a frozen dataclass whose fields are the keys of a testbed of that kind (see
    tables.py); UsageError of its __post_init__ is reported with file and key.
    """

    SETTINGS: ClassVar[type[Any]]

    def __call__(self, settings: Any, home: Path, tell: Callable[[str], None]) -> Driver:
        """One testbed: `home` is where it may keep files, `tell` hears what it does."""


def unheard(_text: str) -> None:
    """For drivers of whom nobody wants to hear what they do."""


@runtime_checkable
class Profiling(Protocol):
    """What a driver can do besides, if it can see where the DUT's cycles go."""

    def counter(self) -> str:
        """The event that captures sample; empty when this testbed is not set up for captures."""

    def capture(self, workload: str) -> Profile:
        """Sample the booted kernel under the workload's traffic, which is no measurement.

        Raises InfraError for all that goes wrong: what a kernel does then is not held against it.
        """


@runtime_checkable
class Metering(Protocol):
    """What a driver can do besides, if its values have units that are not known by their names."""

    def metrics(self) -> tuple[Metric, ...]:
        """The units of the workload that is prepared: which way is better, how they repeat."""


@runtime_checkable
class Dealing(Protocol):
    """What a driver can do besides, if its boots were recorded: each sample gets the same ones."""

    def deal(self, sample: str) -> None:
        """Have the next boots be those of a sample; those recorded come first, in their order."""
