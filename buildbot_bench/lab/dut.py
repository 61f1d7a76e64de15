"""The life of one boot of the DUT: its states, and the order of its verbs.

off ── boot ──▶ booted ── verify ──▶ ready ── blast ──▶ ready
 ▲                │                    │
 └── power_off ───┴──── failed ◀───────┘
"""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from buildbot_bench.core.errors import BenchError, InfraError
from buildbot_bench.core.profile.model import Profile
from buildbot_bench.lab.driver import Blast, Driver, Profiling

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
