"""Calculations in processes beside the master, which answers meanwhile.

Threads would hold the interpreter and with it all pages, and a fork beside a library's threads may
never return. One process serves pages and the broker, a second one long calculations.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger

from buildbot_bench import calculator
from buildbot_bench.core.errors import InfraError
from buildbot_bench.one_thread import LIMITS

_LOG = Logger()

# On a busy machine what a page shows takes seconds, and the forecast of a wide range a minute.
LIMIT_S = 300.0
LONG_S = 1800.0
# Of a process that dies something else may be the cause: the system, short of memory.
_MOST_TRIES = 2

T = TypeVar("T")


class CalculationError(InfraError):
    """A calculation came to no end; what asked for it may ask again."""


@dataclass(eq=False, kw_only=True, slots=True)
class Task:
    """A function that is to be called, where to say what it gave, and what it may take."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    limit_s: float
    answer: Deferred[Any] = field(default_factory=Deferred)
    tries: int = 0

    @property
    def name(self) -> str:
        """What the log calls it."""
        return getattr(self.function, "__qualname__", repr(self.function))


class Calculating(Protocol):
    """Where tasks are done."""

    def add(self, task: Task) -> None:
        """Do it some time, and answer."""


class _Process(ProcessProtocol):
    """Does one task after the other; one that hangs or dies is replaced."""

    transport: Any

    def __init__(self) -> None:
        self._waiting: deque[Task] = deque()
        self._task: Task | None = None
        self._timer: Any = None
        self._read = bytearray()
        self._hung = False

    @property
    def is_idle(self) -> bool:
        return self._task is None and not self._waiting

    def add(self, task: Task) -> None:
        self._waiting.append(task)
        self._next()

    def end(self) -> None:
        """End the process at once, and give up what waits for it."""
        given_up = [*([self._task] if self._task else ()), *self._waiting]
        self._task = None
        self._waiting.clear()
        self._kill()
        for task in given_up:
            task.answer.errback(CalculationError(f"{task.name}: the master stops"))

    def _next(self) -> None:
        if self._task is not None or not self._waiting:
            return
        task = self._waiting.popleft()
        try:
            text = calculator.framed((task.function, task.args, task.kwargs))
        except Exception as error:  # noqa: BLE001 - whatever is no plain data
            task.answer.errback(error)
            self._next()
            return
        self._task = task
        task.tries += 1
        if self.transport is None:
            self._begin()
        self._timer = reactor.callLater(task.limit_s, self._hang)
        self.transport.write(text)

    def _begin(self) -> None:
        # Without a directory of its own it is spawned, not forked.
        path = os.pathsep.join(filter(None, sys.path))
        reactor.spawnProcess(
            self,
            sys.executable,
            [sys.executable, "-P", "-m", calculator.__name__],
            env={**os.environ, **LIMITS, "PYTHONPATH": path},
            childFDs={0: "w", 1: "r", 2: "r"},
        )

    def _hang(self) -> None:
        self._hung = True
        self._kill()

    def _kill(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self.transport is not None and self.transport.pid:
            self.transport.signalProcess("KILL")

    def outReceived(self, data: bytes) -> None:
        self._read += data
        start = calculator.LENGTH_BYTES
        while len(self._read) >= start:
            end = start + int.from_bytes(self._read[:start], "big")
            if len(self._read) < end:
                return
            succeeded, value = calculator.unpickled(bytes(self._read[start:end]))
            del self._read[:end]
            self._answered(succeeded, value)

    def _answered(self, succeeded: bool, value: Any) -> None:
        task, self._task = self._task, None
        if task is None:
            return  # it was given up
        self._timer.cancel()
        self._next()
        (task.answer.callback if succeeded else task.answer.errback)(value)

    def errReceived(self, data: bytes) -> None:
        _LOG.warn("bench: a calculation says: {text}", text=data.decode("utf-8", "replace").strip())

    def processEnded(self, reason: Any) -> None:
        task, self._task, self.transport = self._task, None, None
        hung, self._hung = self._hung, False
        self._read.clear()
        if task is not None:
            if self._timer.active():
                self._timer.cancel()
            what = f"took more than {task.limit_s:g} s" if hung else reason.getErrorMessage()
            _LOG.warn("bench: {name}: its process is replaced: {what}", name=task.name, what=what)
            if hung or task.tries >= _MOST_TRIES:
                task.answer.errback(CalculationError(f"{task.name}: {what}"))
            else:
                self._waiting.appendleft(task)
        self._next()


class Processes:
    """The two processes of a master."""

    def __init__(self) -> None:
        self._usual, self._long = _Process(), _Process()
        self._ends_with_reactor = False

    def add(self, task: Task) -> None:
        """What is long has a process of its own, which helps the usual one when it has nothing."""
        if not self._ends_with_reactor:
            self._ends_with_reactor = True
            reactor.addSystemEventTrigger("during", "shutdown", self.end)
        helps = self._long.is_idle and not self._usual.is_idle
        (self._long if task.limit_s > LIMIT_S or helps else self._usual).add(task)

    def end(self) -> None:
        """End both with all that waits; what is asked later begins them again."""
        self._usual.end()
        self._long.end()


_used: list[Calculating] = [Processes()]


def use(calculating: Calculating) -> Calculating:
    """Have all tasks be done there from now on; gives where they were done before."""
    before, _used[0] = _used[0], calculating
    return before


def calculate(
    function: Callable[..., T], *args: Any, limit_s: float = LIMIT_S, **kwargs: Any
) -> Deferred[T]:
    """What a function gives, or raises; it may take up to `limit_s` seconds.

    A process that dies is tried once more. A CalculationError says that there is no answer.
    """
    task = Task(function=function, args=args, kwargs=kwargs, limit_s=limit_s)
    _used[0].add(task)
    return task.answer


class KeptAnswers(Generic[T]):
    """A function that is calculated once for the same arguments; the last answers are kept."""

    def __init__(
        self, function: Callable[..., T], *, most: int = 32, limit_s: float = LIMIT_S
    ) -> None:
        self._function = function
        self._most = most
        self._limit_s = limit_s
        self._answers: OrderedDict[Hashable, T] = OrderedDict()
        self._asked: set[Hashable] = set()

    async def __call__(self, *args: Any) -> T:
        """The answer, now or when it is known."""
        if args not in self._answers:
            answer = await calculate(self._function, *args, limit_s=self._limit_s)
            self._answers[args] = answer
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
            return answer
        self._answers.move_to_end(args)
        return self._answers[args]

    def known(self, *args: Any, then: Callable[[], object] = lambda: None) -> T | None:
        """The answer if it is known; else None, and it is calculated, once, before `then`."""
        if args in self._answers:
            self._answers.move_to_end(args)
            return self._answers[args]
        if args not in self._asked:
            self._asked.add(args)
            asked = Deferred.fromCoroutine(self(*args))
            asked.addCallback(lambda _: then())
            asked.addErrback(lambda why: _LOG.warn("bench: {why}", why=why.getErrorMessage()))
            asked.addBoth(lambda _: self._asked.discard(args))
        return None
