"""`bench-ministat`: take the flags, messages and exit status of ministat(1).

Where ministat would crash (infinite values, -w 1) it ends with a message instead, and with the
status 2 of all other errors.
"""

import getopt
import io
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import BinaryIO

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.ministat import CONFIDENCE_LEVELS, MIN_VALUES
from buildbot_bench.core.ministat_text import DEFAULT_WIDTH, MAX_DATASETS, Options, render_options
from buildbot_bench.installed import version

# FreeBSD's. A longer line is read in pieces, each of which counts as a line.
_BUFSIZ = 1024

_BLANK = r"[ \t\n\v\f\r]*"
# More digits than C's long can hold are refused.
_INTEGER = re.compile(rf"(?a){_BLANK}[+-]?[0-9]{{1,18}}")
_DECIMAL = re.compile(rf"(?ai){_BLANK}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(
    rf"(?ai){_BLANK}[+-]?0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(p[+-]?[0-9]+)?"
)
_INFINITE = re.compile(rf"(?ai){_BLANK}[+-]?inf(inity)?")
_NAN = re.compile(rf"(?ai){_BLANK}[+-]?nan(\([0-9a-z_]*\))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """Where the numbers stand: the column, counted from 1, and the set of its delimiters."""

    number: int = 1
    delimiters: str = " \t"


def strtod(text: str) -> float | None:
    """Read the whole text as C's strtod reads a number: None when something is left over.

    Hexadecimal, infinite and NaN texts are numbers, Python's underscores are not; the empty
    text is 0.
    """
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text) or _INFINITE.fullmatch(text):
        return float(text)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return float("inf")
    return float("nan") if _NAN.fullmatch(text) else None


def strtol(text: str) -> int | None:
    """Read the whole text as C's strtol reads a decimal integer; the empty text is 0."""
    if not text:
        return 0
    return int(text) if _INTEGER.fullmatch(text) else None


def atoi(text: str) -> int:
    """Read the integer with which a text begins; 0 when there is none."""
    match = _INTEGER.match(text)
    return int(match[0]) if match else 0


def read_dataset(name: str, stream: BinaryIO, column: Column) -> list[float]:
    """The numbers in one column of an input, in their order."""
    try:
        numbers = list(_numbers(name, stream, column))
    except OSError as error:
        raise UsageError(f"ministat: Cannot read {name}: {error.strerror}") from error
    if len(numbers) < MIN_VALUES:
        raise UsageError(f"Dataset {name} must contain at least {MIN_VALUES} data points")
    return numbers


def _numbers(name: str, stream: BinaryIO, column: Column) -> Iterator[float]:
    for line, token in _tokens(stream, column):
        number = strtod(token)
        if number is None:
            raise UsageError(f"ministat: Invalid data on line {line} in {name}")
        yield number


def _tokens(stream: BinaryIO, column: Column) -> Iterator[tuple[int, str]]:
    """The number of each line that has the column, and the text in it.

    Delimiters collapse as with strtok. A token that begins with # ends its line.
    """
    separator = re.compile(f"[{re.escape(column.delimiters)}]")
    line = 0
    while piece := stream.readline(_BUFSIZ - 1):
        line += 1
        text = os.fsdecode(piece.rstrip())
        tokens = [token for token in separator.split(text) if token][: column.number]
        if len(tokens) == column.number and not any(t.startswith("#") for t in tokens):
            yield line, tokens[-1]


USAGE = """\
usage: bench-ministat [-AnPqs] [-C column] [-c confidence] [-d delimiters] [-w width] [file ...]
  -A  print no plot
  -n  print no plot and no verdict: the figures only
  -q  print neither names nor heading
  -s  draw each data set's bar on a line of its own
  -P  take the data for whole populations: print their deviation, compare nothing
  -C  the column to read, counted from 1 (default 1)
  -c  confidence in percent: 80, 90, 95, 98, 99 or 99.5 (default 95)
  -d  the characters that separate columns (default space and tab)
  -w  the width of the plot (default 74, or the terminal's)
  --help, --version
Reads 1 to 7 data sets (- or none: standard input) and compares each with the first.
"""
_STATUS_USAGE = 2
_STATUS_INTERRUPTED = 130
_STDIN_LABEL = "<stdin>"


class _OptionError(UsageError):
    """A command line that is answered with the usage text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Arguments:
    """The command line, read; `width` is None unless it was given."""

    options: Options
    column: Column
    width: int | None
    files: tuple[str, ...]


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 no matter what the verdict, 2 for any error."""
    try:
        arguments = _parse(sys.argv[1:] if argv is None else argv)
        if isinstance(arguments, str):
            print(arguments, end="")
            return 0
        width = _stdout_width() if arguments.width is None else arguments.width
        text = render_options(_datasets(arguments), replace(arguments.options, width=width))
    except _OptionError as error:
        print(error.message, USAGE, sep="\n", end="", file=sys.stderr)
        return _STATUS_USAGE
    except UsageError as error:
        print(error, file=sys.stderr)
        return _STATUS_USAGE
    except KeyboardInterrupt:
        return _STATUS_INTERRUPTED
    _write(text)
    return 0


def _parse(argv: list[str]) -> _Arguments | str:
    """Read the command line; a text to be printed for a plea for help or for the version."""
    try:
        flags, files = getopt.getopt(argv, "AC:c:d:nPqsw:", ["help", "version"])
    except getopt.GetoptError as error:
        raise _OptionError(f"ministat: {error.msg}\nUnknown option") from error
    options = Options(separate=False)
    column = Column()
    width: int | None = None
    confidence_given = False
    for flag, value in flags:
        match flag:
            case "--help":
                return USAGE
            case "--version":
                return f"bench-ministat {version()}\n"
            case "-C":
                wrong = "Invalid column number.", 1, "Column number should be positive."
                column = replace(column, number=_integer(value, *wrong))
            case "-d":
                column = replace(column, delimiters=_delimiters(value))
            case "-w":
                wrong = "Invalid width, not a number.", 0, "Unable to move beyond left margin."
                width = _integer(value, *wrong)
            case "-c":
                options = _with_confidence(options, value, lenient=confidence_given)
                confidence_given = True
            case _:
                options = replace(options, **_SWITCHES[flag])
    if len(files) > MAX_DATASETS:
        raise _OptionError("Too many datasets.")
    return _Arguments(options=options, column=column, width=width, files=tuple(files))


_SWITCHES: Mapping[str, Mapping[str, bool]] = {
    "-A": {"plot": False},
    "-n": {"plot": False, "compare": False},
    "-P": {"population": True},
    "-q": {"header": False},
    "-s": {"separate": True},
}


def _with_confidence(options: Options, text: str, *, lenient: bool) -> Options:
    """Set the confidence; a wrong one after a right one is passed over, as ministat does."""
    confidence = strtod(text)
    if confidence is None:
        raise _OptionError("Not a floating point number")
    if confidence in CONFIDENCE_LEVELS:
        return replace(options, confidence=confidence)
    if lenient:
        return options
    raise _OptionError("No support for confidence level")


def _integer(text: str, no_number: str, least: int, too_small: str) -> int:
    number = strtol(text)
    if number is None or number < least:
        raise _OptionError(no_number if number is None else too_small)
    return number


def _delimiters(text: str) -> str:
    if not text:
        raise _OptionError("Can't use empty delimiter string")
    return text


def _stdout_width() -> int:
    """74, but on a terminal $COLUMNS as it is, else two less than the terminal has."""
    if not sys.stdout.isatty():
        return DEFAULT_WIDTH
    if columns := os.environ.get("COLUMNS"):
        width = atoi(columns)
    else:
        width = os.get_terminal_size(sys.stdout.fileno()).columns - 2
    # ministat crashes on the other ones, and nobody asked for them by -w.
    return width if width == 0 or width > 1 else DEFAULT_WIDTH


def _datasets(arguments: _Arguments) -> list[tuple[str, list[float]]]:
    """Open all inputs before the first is read, so that a missing one spoils nothing."""
    with ExitStack() as stack:
        inputs: list[tuple[str, BinaryIO]] = []
        for position, name in enumerate(arguments.files):
            if name == "-" and position == 0:
                inputs.append((name, sys.stdin.buffer))
            else:
                inputs.append((name, stack.enter_context(_open(name))))
        if not inputs:
            inputs = [(_STDIN_LABEL, sys.stdin.buffer)]
        return [(name, read_dataset(name, stream, arguments.column)) for name, stream in inputs]


def _open(name: str) -> BinaryIO:
    try:
        return open(name, "rb")  # noqa: PTH123 - a Path would turn "./file" into "file"
    except OSError as error:
        raise UsageError(f"ministat: Cannot open {name}: {error.strerror}") from error


def _write(text: str) -> None:
    """Write to stdout; a name that is no text goes out as the bytes that it came in."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python would complain again at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
