"""The output of the farm's commands: the answer on stdout, all else on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from buildbot_bench.cli.exits import ExitStatus
from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.legible import long_line, writable

LINES_APART_S = 10.0


def exit_status_of(name: str, work: Callable[[], int]) -> int:
    """The status that some work gives; what ends it is said in one line, in the command's name."""
    try:
        return work()
    except BenchError as error:
        say(f"{name}: {long_line(str(error))}")
        return ExitStatus.USAGE if isinstance(error, UsageError) else ExitStatus.INFRASTRUCTURE
    except KeyboardInterrupt:
        return ExitStatus.INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has had enough; Python's own last flush must not complain of it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitStatus.NOBODY_READS


def answer(text: str, value: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the answer, and nothing else ever, to standard output."""
    shown = json.dumps(value, indent=2) if as_json else text.rstrip("\n")
    print(writable(shown, sys.stdout.encoding), flush=True)


class Waiting:
    """Tells on standard error how far something is: one line that changes, or a line now and then.

    In a file, ten seconds lie between lines of the same work: what stands before the colon.
    """

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._redraws = sys.stderr.isatty()
        self._work = ""
        self._said_at_s = 0.0
        self._is_open = False

    def __call__(self, progress: str) -> None:
        """Say it, or leave it out because much the same was just said."""
        line, now_s = long_line(progress), self._monotonic()
        work = line.partition(":")[0]
        if self._redraws:
            self._is_open = True
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif work != self._work or now_s - self._said_at_s >= LINES_APART_S:
            say(line)
            self._work, self._said_at_s = work, now_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._is_open:
            say("")


def say(message: str) -> None:
    """Print what is not the answer to standard error."""
    print(message, file=sys.stderr, flush=True)
