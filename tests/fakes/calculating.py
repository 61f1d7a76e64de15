"""Calculations in a thread of the test, with the bytes that a real pipe carries."""

from __future__ import annotations

from twisted.internet.threads import deferToThread

from buildbot_bench.calculator import LENGTH_BYTES, answer, framed, unpickled
from buildbot_bench.plugin.farm.calculating import Task


class InThread:
    """Begins no processes: their start would take longer than most tests."""

    def add(self, task: Task) -> None:
        deferToThread(self._do, task).chainDeferred(task.answer)

    def _do(self, task: Task) -> object:
        sent = framed((task.function, task.args, task.kwargs))[LENGTH_BYTES:]
        succeeded, value = unpickled(answer(sent)[LENGTH_BYTES:])
        if not succeeded:
            raise value
        return value
