"""Calculations in processes beside the master, which answers meanwhile.

Threads would hold the interpreter and with it all pages, and a fork beside a library's threads may
never return. One process serves pages and the broker, a second one long calculations. What was
asked before is not calculated again: the last answers are kept, by the digests of their questions.
"""

import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from twisted.internet import reactor
from twisted.internet.defer import Deferred, fail
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from buildbot_bench import calculator
from buildbot_bench.core.errors import InfraError
from buildbot_bench.process_environment import LIMITS

_LOG = Logger()

# On a busy machine what a page shows takes seconds, and the forecast of a wide range a minute.
LIMIT_S = 300.0
LONG_S = 1800.0
# Of a process that dies something else may be the cause: the system, short of memory.
_MOST_TRIES = 2
# Most answers have some hundred bytes, and a picture 100 kB.
MOST_KEPT_BYTES = 2**24

T = TypeVar("T")


class CalculationError(InfraError):
    """A calculation came to no end; what asked for it may ask again."""


@dataclass(eq=False, kw_only=True, slots=True)
class Task:
    """A function to call with its arguments, as bytes for the pipe.

    `answer` gives what `calculator.answer` wrote. Nobody waits yet for a task that is `ahead`.
    """

    name: str
    question: bytes
    limit_s: float
    ahead: bool
    answer: Deferred[bytes] = field(default_factory=Deferred)
    tries: int = 0


class Calculating(Protocol):
    """Where tasks are done."""

    def add(self, task: Task) -> None:
        """Do it some time, and answer."""


class _Process(ProcessProtocol):
    """Does tasks one by one, what is waited for first; one that hangs or dies is replaced."""

    transport: Any

    def __init__(self) -> None:
        self._waiting: list[Task] = []
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
        task = min(self._waiting, key=lambda waiting: waiting.ahead)
        self._waiting.remove(task)
        self._task = task
        task.tries += 1
        if self.transport is None:
            self._begin()
        self._timer = reactor.callLater(task.limit_s, self._hang)
        self.transport.write(task.question)

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
            text = bytes(self._read[start:end])
            del self._read[:end]
            self._answered(text)

    def _answered(self, text: bytes) -> None:
        task, self._task = self._task, None
        if task is None:
            return  # it was given up
        self._timer.cancel()
        self._next()
        task.answer.callback(text)

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
                self._waiting.insert(0, task)
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


class _Answers:
    """The last answers, and the tasks that are not answered yet, by the digests of questions."""

    def __init__(self, calculating: Calculating) -> None:
        self.calculating = calculating
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._open: dict[bytes, tuple[Task, list[Deferred[Any]]]] = {}

    def ask(self, call: tuple[Any, ...], limit_s: float, *, ahead: bool) -> Deferred[Any]:
        """What a call gives, each time a copy; at once if it is kept."""
        try:
            question = calculator.framed(call)
        except Exception:  # noqa: BLE001 - whatever is no plain data
            return fail()
        key = sha256(question).digest()
        answer: Deferred[Any] = Deferred()
        if key in self._kept:
            self._kept.move_to_end(key)
            _give(answer, self._kept[key])
        elif key in self._open:
            task, askers = self._open[key]
            task.ahead = task.ahead and ahead
            askers.append(answer)
        else:
            name = getattr(call[0], "__qualname__", repr(call[0]))
            task = Task(name=name, question=question, limit_s=limit_s, ahead=ahead)
            self._open[key] = task, [answer]
            task.answer.addBoth(partial(self._tell, key))
            self.calculating.add(task)
        return answer

    def _tell(self, key: bytes, told: bytes | Failure) -> None:
        if isinstance(told, bytes) and calculator.unpickled(told)[0]:
            self._keep(key, told)
        _, askers = self._open.pop(key)
        for answer in askers:
            _give(answer, told)

    def _keep(self, key: bytes, text: bytes) -> None:
        if len(text) > MOST_KEPT_BYTES:
            return
        self._kept[key] = text
        self._bytes += len(text)
        while self._bytes > MOST_KEPT_BYTES:
            self._bytes -= len(self._kept.popitem(last=False)[1])


def _give(answer: Deferred[Any], told: bytes | Failure) -> None:
    succeeded, value = calculator.unpickled(told) if isinstance(told, bytes) else (False, told)
    (answer.callback if succeeded else answer.errback)(value)


_answers = [_Answers(Processes())]


def use(calculating: Calculating) -> Calculating:
    """Have all tasks be done there from now on; gives where they were done before."""
    before, _answers[0] = _answers[0], _Answers(calculating)
    return before.calculating


def calculate(
    function: Callable[..., T], *args: Any, limit_s: float = LIMIT_S, **kwargs: Any
) -> Deferred[T]:
    """What a function gives, or raises; it may take up to `limit_s` seconds.

    The same question has the same answer. A process that dies is tried once more. A
    CalculationError says that there is no answer.
    """
    return _answers[0].ask((function, args, kwargs), limit_s, ahead=False)


def known(
    function: Callable[..., T],
    *args: Any,
    then: Callable[[], object] = lambda: None,
    limit_s: float = LIMIT_S,
) -> T | None:
    """What a function gives if that is known; else None, and it is calculated before `then`.

    What somebody waits for is calculated first.
    """
    found: list[T] = []
    asked = _answers[0].ask((function, args, {}), limit_s, ahead=True).addCallback(found.append)
    if not found:
        asked.addCallback(lambda _: then())
    asked.addErrback(lambda why: _LOG.warn("bench: {why}", why=why.getErrorMessage()))
    return found[0] if found else None
