"""Calculations at once, in the test's own process, with the bytes that a real pipe carries."""

from buildbot_bench.calculator import LENGTH_BYTES, answer
from buildbot_bench.plugin.farm.calculating import Task


class AtOnce:
    """Begins no processes: their start would take longer than most tests."""

    def add(self, task: Task) -> None:
        task.answer.callback(answer(task.question[LENGTH_BYTES:])[LENGTH_BYTES:])


class Counting(AtOnce):
    """Counts what it does, of all functions or of one."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self.done = 0

    def add(self, task: Task) -> None:
        self.done += self._name in {"", task.name}
        super().add(task)


class Late(AtOnce):
    """Leaves what is asked, of all functions or of one, until `do`."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self.tasks: list[Task] = []

    def add(self, task: Task) -> None:
        if self._name in {"", task.name}:
            self.tasks.append(task)
        else:
            super().add(task)

    def do(self) -> None:
        """Do it now."""
        done, self.tasks = self.tasks, []
        for task in done:
            super().add(task)
