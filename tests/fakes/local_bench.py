"""A measurer for local searches that reads values from the trees and runs nothing."""

import random
from collections.abc import Callable
from pathlib import Path

from buildbot_bench.core.errors import BenchError
from buildbot_bench.core.metric import RunTimes
from buildbot_bench.lab.driver import Blast
from buildbot_bench.local.bisecting import SearchCourse


class ReadMeasurer:
    """Gives the number in the file `level` with some noise, a fraction; seeded.

    `failures` are raised first, one for each run, None for a run that is well. `seen` are the
    numbers of the file `number` of each run, in order, `asked` the executions that were asked for.
    With `waits` a run waits the longer the lower its level is, and takes the same processor time.
    """

    def __init__(
        self,
        *,
        noise: float = 0.002,
        failures: tuple[BenchError | None, ...] = (),
        waits: bool = False,
    ) -> None:
        self._noise = noise
        self._random = random.Random(1)
        self._failures = list(failures)
        self._waits = waits
        self.seen: list[int] = []
        self.asked: list[int] = []

    def measure(self, directory: Path, tell: Callable[[str], None], executions: int = 0) -> Blast:
        """As the port says."""
        self.asked.append(executions)
        self.seen.append(int((directory / "number").read_text()))
        if self._failures and (failure := self._failures.pop(0)):
            raise failure
        level = float((directory / "level").read_text())
        value = level * (1 + self._random.gauss(0, self._noise))
        times = None
        if self._waits:
            cpu_s = self._random.gauss(0.05, 0.0005)
            times = RunTimes(wall_s=100 / value, user_s=cpu_s, system_s=0.0, executions=7)
        return Blast(values={"units": value}, facts={"randomised": "nothing"}, times=times)


class SilentWatcher:
    """Keeps what a person would have read."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.courses: list[SearchCourse] = []

    def show(self, course: SearchCourse) -> None:
        """As the port says."""
        self.courses.append(course)

    def notice(self, message: str) -> None:
        """As the port says."""
        self.notices.append(message)
