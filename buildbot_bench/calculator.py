"""A process that calculates for a master and ends with it: pickled tasks in, results out."""

import os
import pickle
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import Any, BinaryIO

LENGTH_BYTES = 8


def framed(value: object) -> bytes:
    """A value as it goes through the pipe."""
    text = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(text).to_bytes(LENGTH_BYTES, "big") + text


def unpickled(text: bytes) -> Any:
    """What our own process at the other end of a pipe wrote; nobody else holds one."""
    return pickle.loads(text)  # noqa: S301


def main() -> None:
    """Calculate until the master closes the pipe."""
    # A terminal and systemd tell them to all processes of a master: it says itself when to end.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # What a library prints is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, tasks), daemon=True).start()
    while True:
        answers.write(answer(tasks.get()))
        answers.flush()


def _read(pipe: BinaryIO, tasks: SimpleQueue[bytes]) -> None:
    while length := pipe.read(LENGTH_BYTES):
        tasks.put(pipe.read(int.from_bytes(length, "big")))
    os._exit(0)  # no master any more: a calculation that goes on is for nobody


def answer(task: bytes) -> bytes:
    """Whether a task's function gave something, and what it gave or raised, as it is written."""
    try:
        function, args, kwargs = unpickled(task)
        return framed((True, function(*args, **kwargs)))
    except BaseException as error:  # noqa: BLE001 - the master raises it where it asked
        return framed((False, _sendable(error)))


def _sendable(error: BaseException) -> BaseException:
    """The error with where it was raised; one that can't be pickled by its words."""
    error.add_note(f"In a process that calculates:\n{''.join(traceback.format_exception(error))}")
    try:
        unpickled(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - whatever its constructor makes of it
        return RuntimeError("".join(traceback.format_exception_only(error)))
    return error


if __name__ == "__main__":
    main()
