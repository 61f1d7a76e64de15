"""The output of the farm's commands: answers, progress lines and exit statuses."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, Generic, Protocol, Self, TextIO, TypeVar

from buildbot_bench.core.errors import BenchError, UsageError
from buildbot_bench.core.legible import long_line, writable


class ExitStatus(IntEnum):
    """The statuses a script can rely on; the last two are the shell's 128 + SIGINT, + SIGPIPE."""

    ANSWERED = 0
    NO_DIFFERENCE = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INFRASTRUCTURE = 4
    INTERRUPTED = 130
    NOBODY_READS = 141


_OF_STATE = {
    "found": ExitStatus.ANSWERED,
    "slope": ExitStatus.ANSWERED,
    "done": ExitStatus.ANSWERED,
    "not-reproduced": ExitStatus.NO_DIFFERENCE,
    "inconclusive": ExitStatus.INCONCLUSIVE,
    "untestable": ExitStatus.INCONCLUSIVE,
    "rejected": ExitStatus.INCONCLUSIVE,
    # A cancelled search leaves its suspects, like any other that ended before its answer.
    "cancelled": ExitStatus.INCONCLUSIVE,
    "failed": ExitStatus.INFRASTRUCTURE,
}


def exit_status(state: str) -> ExitStatus:
    """The status for the state in which a search or a comparison ended; KeyError of another."""
    return _OF_STATE[state]


Seen = TypeVar("Seen")
Seen_contra = TypeVar("Seen_contra", contravariant=True)


class View(Protocol[Seen_contra]):
    """Where something is shown while one waits for it."""

    def show(self, seen: Seen_contra) -> None:
        """Show it as it stands now."""

    def notice(self, message: str) -> None:
        """Something that a person should know, said once."""


class LineView(Generic[Seen]):
    """A view that prints the lines that `new` gives for each state: those not given before."""

    def __init__(self, stream: TextIO, new: Callable[[Seen], Iterable[str]]) -> None:
        self._stream, self._new = stream, new

    def show(self, seen: Seen) -> None:
        """Print what is new."""
        for line in self._new(seen):
            self.notice(line)

    def notice(self, message: str) -> None:
        """Print it as a line of its own."""
        print(message, file=self._stream, flush=True)


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


def entry_point(name: str, work: Callable[[Sequence[str]], int]) -> Callable[..., int]:
    """Return the `main` of a command: `work` on its arguments, or on sys.argv's when None."""

    def main(argv: Sequence[str] | None = None) -> int:
        given = sys.argv[1:] if argv is None else argv
        return exit_status_of(name, lambda: work(given))

    return main


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
