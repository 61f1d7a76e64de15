"""Drivers, each of which operates one kind of testbed, and the loop that measures by one.

off ── boot ──▶ booted ── verify ──▶ ready ── blast ──▶ ready
 ▲                │                    │
 └── power_off ───┴──── failed ◀───────┘
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from buildbot_bench.core.errors import BenchError, InfraError, SkippedRevision, UntestableRevision
from buildbot_bench.core.metric import Metric, RunTimes, wired
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.core.wire import (
    Event,
    Failed,
    FailureKind,
    Finished,
    Measured,
    Phase,
    join_logs,
    split_logs,
)


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


_Result = TypeVar("_Result")


class State(StrEnum):
    """How far a boot has come."""

    OFF = "off"
    BOOTED = "booted"
    READY = "ready"
    FAILED = "failed"


class Dut:
    """A device under test behind its driver; used as a context it is off again at the end."""

    def __init__(self, driver: Driver, artefact: Path, digest: str) -> None:
        self._driver = driver
        self._artefact = artefact
        self._digest = digest
        self._installed = False
        self._failure: BenchError | None = None
        self.state = State.OFF
        self.console = ""

    def boot(self) -> None:
        """Install the kernel if that was not yet done, and start it afresh."""
        self._advance(State.OFF, State.BOOTED, self._install_and_boot)

    def verify(self) -> None:
        """Refuse a DUT that runs another kernel than the one asked for."""
        self._advance(State.BOOTED, State.READY, self._driver.verify)

    def blast(self, workload: str) -> Blast:
        """Run the workload's traffic once."""
        return self._advance(State.READY, State.READY, lambda: self._driver.blast(workload))

    def capture(self, workload: str) -> Profile:
        """Sample where the kernel's cycles go under the workload's traffic."""
        driver = self._driver
        if not isinstance(driver, Profiling):
            raise InfraError("this testbed takes no captures")
        return self._advance(State.READY, State.READY, lambda: driver.capture(workload))

    def power_off(self) -> None:
        """Stop everything, from any state, and keep what the console said."""
        self.console = self._driver.console()
        self._driver.shutdown()
        self._failure = None
        self.state = State.OFF

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.power_off()

    def _install_and_boot(self) -> None:
        if not self._installed:
            self._driver.install(self._artefact, self._digest)
            self._installed = True
        self._driver.boot()

    def _advance(self, start: State, end: State, action: Callable[[], _Result]) -> _Result:
        if self._failure is not None:
            raise self._failure
        if self.state is not start:
            raise InfraError(f"the DUT is {self.state}, and only one that is {start} can go on")
        try:
            result = action()
        except BenchError as failure:
            self.state, self._failure = State.FAILED, failure
            raise
        self.state = end
        return result


CONSOLE_LIMIT = 16 * 1024  # characters of a console's end that an event carries


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """How many failures in a row make a kernel untestable; how many in all make the lab ill."""

    kernel_faults: int = 2
    lab_faults: int = 3
    pause_s: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a job was asked for; a tunable is NAME=VALUE.

    With `profile` it is one capture of where the cycles go, and no iterations. `sample` names what
    its boots are measured for, where that is more than one job: a comparison.
    """

    job: str
    testbed: str
    workload: str
    digest: str
    iterations: int
    tunables: tuple[str, ...] = ()
    profile: bool = False
    sample: str = ""


def measure(
    request: Request,
    dut: Dut,
    recorded: Sequence[Event],
    emit: Callable[[Event], None],
    budget: Budget,
) -> Finished | Failed:
    """Bring a job to its end, after the iterations that are already recorded.

    Emits all but the last event, which it returns.
    """
    earlier = [event for event in recorded if isinstance(event, Measured)]
    ordinal = max((event.ordinal for event in earlier), default=-1) + 1
    done = sum(event.failure is None for event in earlier)
    kernel_faults = lab_faults = 0
    while done < request.iterations:
        emit(Phase(text=f"iteration {done + 1} of {request.iterations}", at_s=time.time()))
        measured, fault = _iterate(request.workload, dut, ordinal)
        emit(measured)
        ordinal += 1
        match fault:
            case None:
                done += 1
                kernel_faults = 0
            case SkippedRevision():
                kernel_faults = budget.kernel_faults  # it says so itself: once is enough
            case UntestableRevision():
                kernel_faults += 1
            case _:
                lab_faults += 1
        if fault is not None and (
            kernel_faults >= budget.kernel_faults or lab_faults >= budget.lab_faults
        ):
            return failed(fault, measured.log)
        if fault is not None:
            time.sleep(budget.pause_s)
    return Finished(iterations=done)


def failed(fault: BenchError, log: str = "") -> Failed:
    """The last event of a job that a failure ended."""
    untestable = isinstance(fault, UntestableRevision)
    kind = FailureKind.UNTESTABLE if untestable else FailureKind.INFRASTRUCTURE
    return Failed(kind=kind, reason=str(fault), log=log)


def tail(text: str) -> str:
    """The end of a console, as much as an event may carry."""
    return text[-CONSOLE_LIMIT:]


def _iterate(workload: str, dut: Dut, ordinal: int) -> tuple[Measured, BenchError | None]:
    began_s = time.monotonic()
    blast = Blast(values={})
    log, fault = "", None
    try:
        with dut:
            dut.boot()
            dut.verify()
            blast = dut.blast(workload)
        log = join_logs(split_logs(blast.log))  # of any driver, whatever it prints
    except (UntestableRevision, InfraError) as error:
        fault, log = error, tail(dut.console)
    measured = Measured(
        ordinal=ordinal,
        at_s=time.time(),
        duration_s=time.monotonic() - began_s,
        values=blast.values,
        failure=None if fault is None else str(fault),
        log=log,
        facts=blast.facts,
        times=blast.times.as_json() if blast.times else {},
        named=wired(blast.named),
    )
    return measured, fault
