"""The value of a run, a finite number above 0, read from the command's output."""

import json
import math
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Any

from buildbot_bench.archives.suites import SUITES, json_in, values_in
from buildbot_bench.core.errors import InfraError, UntestableRevision, UsageError
from buildbot_bench.core.legible import long_line, one_line, quoted
from buildbot_bench.core.limits import MIB, spoken
from buildbot_bench.core.metric import MOST_VALUES, Metric, RunTimes
from buildbot_bench.lab.command.process import Ran
from buildbot_bench.lab.command.settings import (
    CPU,
    LAST_NUMBER,
    PRESETS,
    USER,
    WALL,
    Preset,
    ValueTable,
    split_preset,
)
from buildbot_bench.lab.tables import nearest

_FILE_BYTES = 16 * MIB  # of a file with the value
_TAIL = 1 << 16  # characters in which the last number is looked for
_NUMBER = re.compile(
    r"(?<![\w.,])[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?|\b[-+]?(?:nan|inf)\b",
    re.IGNORECASE | re.ASCII,
)
_PLAIN = re.compile(r"[-+]?[\d,]*\.?(\d*)", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def time_of(value: str, times: RunTimes) -> float:
    """The seconds of a run that a value is."""
    found = {CPU: times.cpu_s, WALL: times.wall_s, USER: times.user_s}[value]
    if found == 0:
        raise UntestableRevision(
            "the clock of processor time counts 0 s for it, as it does for very short runs",
            hint="have the run do more work, or measure `cpu`, or `wall`",
        )
    return checked(found)


def printed_step(value: str | ValueTable, ran: Ran) -> float:
    """The smallest difference of two values that are printed with so many digits.

    0 where that is not known: of what is read from JSON or a file.
    """
    pattern = "" if isinstance(value, str) else value.regex
    if value == LAST_NUMBER:
        found = _NUMBER.findall(ran.stdout.text()[-_TAIL:])[-1:]
    else:
        is_printed = isinstance(value, ValueTable) and pattern and not value.file
        found = matches_of(pattern, ran.stdout.text())[:1] if is_printed else []
    digits = _PLAIN.fullmatch(found[0]) if found else None
    return 10.0 ** -len(digits[1] or "") if digits else 0.0


def read_value(value: str | ValueTable, ran: Ran, directory: Path) -> float:
    """The value that a run which ended well printed or wrote."""
    if value == LAST_NUMBER:
        return checked(last_number(ran.stdout.text()))
    tool, named = split_preset(value)
    if named:
        return checked(_named(tool, named, read_whole(value, ran, directory)))
    table = ValueTable(preset=value) if isinstance(value, str) else value
    preset = PRESETS[table.preset] if table.preset else None
    needs = _needs(tool)
    pattern = preset.regex if preset else table.regex
    if pattern:
        text = _text_of(directory, table.file) if table.file else ran.stdout.text()
        return checked(_matched(pattern, text, needs))
    document = next(json_in(read_whole(value, ran, directory)), None)
    if document is None:
        raise UntestableRevision("it prints no JSON", hint=needs)
    path = preset.json if preset else table.json
    return checked(_number(_at(document, path), path) * _scale(preset, document))


def read_values(
    value: str | ValueTable, ran: Ran, directory: Path
) -> tuple[dict[Metric, float], tuple[str, ...]]:
    """Return all values that a run printed or wrote, and the tools that print such.

    A value may be NaN, or not above 0. Raises UsageError: there are more than MOST_VALUES.
    """
    found, tools = values_in(read_whole(value, ran, directory))
    if not found:
        known = "; ".join(filter(None, map(_needs, SUITES)))
        raise UntestableRevision("it prints nothing that a known suite prints", hint=known)
    if len(found) > MOST_VALUES:
        raise UsageError(
            f"a run prints {len(found):,} values, more than {MOST_VALUES:,}",
            hint=f"have it run fewer, or name one: --value '{tools[0]}:{next(iter(found)).name}'",
        )
    return found, tools


def read_whole(value: str | ValueTable, ran: Ran, directory: Path) -> str:
    """Return what a run wrote to the file of a value, or all that it printed."""
    if isinstance(value, ValueTable) and value.file:
        return _text_of(directory, value.file)
    if not ran.stdout.whole:
        raise UntestableRevision(
            f"it prints {spoken(ran.stdout.size)}, too much to be read from",
            hint="have it print less, or write a file, and name that by `file` of `value`",
        )
    return ran.stdout.text()


def _named(tool: str, name: str, text: str) -> float:
    found, _ = values_in(text, tool)
    values = {metric.name: value for metric, value in found.items()}
    if name not in values:
        told = long_line(nearest(name, values)) if values else _needs(tool)
        raise UntestableRevision(f"it prints no value of {tool} called {quoted(name)}", hint=told)
    return values[name]


def _needs(tool: str) -> str:
    """Return how a tool is made to print its values; empty where that needs no option."""
    needs = PRESETS[tool].needs if tool in PRESETS else ""
    return f"{tool} prints it by {needs}" if needs else ""


def checked(value: float) -> float:
    """The value, if it is a finite number above 0."""
    if not math.isfinite(value):
        raise UntestableRevision(f"the value is {value}, not a number")
    if value <= 0:
        raise UntestableRevision(f"the value is {value:g}: it must be above 0")
    return value


def last_number(text: str) -> float:
    """The last number of a text; `5.2ms` is 5.2, and `1,234` one number."""
    found = _NUMBER.findall(text[-_TAIL:])
    if not found:
        raise UntestableRevision("it prints no number")
    return _parsed(found[-1])


def _parsed(word: str) -> float:
    if "," in word:
        if not _THOUSANDS.fullmatch(word):
            raise UntestableRevision(
                f"{quoted(word)} is no number", hint="print it with a point, as in 3.14"
            )
        word = word.replace(",", "")
    try:
        return float(word)
    except ValueError as error:
        raise UntestableRevision(f"{quoted(word)} is no number") from error


def _matched(pattern: str, text: str, needs: str) -> float:
    found = matches_of(pattern, text)
    if not found:
        raise UntestableRevision(f"it prints nothing that matches {quoted(pattern)}", hint=needs)
    if len(found) > 1:
        shown = ", ".join(one_line(word, columns=20) for word in found)
        raise UntestableRevision(
            f"what it prints matches {quoted(pattern)} more than once: {shown}",
            hint="write a pattern that matches once, or have it print one value",
        )
    return _parsed(found[0])


def _at(document: Any, path: str) -> Any:
    here = document
    for match in _STEP.finditer(path):
        try:
            here = here[int(match[1])] if match[1] else here[match[2]]
        except (LookupError, TypeError, ValueError) as error:
            raise UntestableRevision(f"the JSON that it prints has no {path}") from error
    return here


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UntestableRevision(f"{path} is no number in the JSON that it prints")
    try:
        return float(value)
    except (ValueError, OverflowError) as error:
        raise UntestableRevision(
            f"{path} is {quoted(str(value), columns=100)}, no number"
        ) from error


def _scale(preset: Preset | None, document: Any) -> float:
    if preset is None or not preset.scale_at:
        return 1.0
    word = _at(document, preset.scale_at)
    if not isinstance(word, str) or word not in preset.scales:
        raise UntestableRevision(f"{preset.scale_at} is {quoted(str(word), columns=100)}, no unit")
    return preset.scales[word]


def _text_of(directory: Path, name: str) -> str:
    path = (directory / name).resolve()
    try:
        found = path.stat()
        if not path.is_relative_to(directory.resolve()) or not S_ISREG(found.st_mode):
            raise UntestableRevision(f"{name} is no file in its directory")
        if found.st_size > _FILE_BYTES:
            raise UntestableRevision(f"{name} has {spoken(found.st_size)}")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UntestableRevision(f"it does not write {name}: {error.strerror}") from error


_DEADLINE_S = 20.0  # also for a busy machine; a sound pattern takes milliseconds
_MOST = 3  # matches that are told


def matches_of(pattern: str, text: str, *, deadline_s: float = _DEADLINE_S) -> list[str]:
    """What the pattern's group matches, at most three times; `^` and `$` are of each line."""
    # -P: what lies in the current directory is not imported.
    words = [sys.executable, "-P", "-m", "buildbot_bench.lab.command.value"]
    asked = json.dumps({"pattern": pattern, "text": text}).encode()
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            words, input=asked, capture_output=True, check=True, timeout=deadline_s
        )
    except subprocess.TimeoutExpired as error:
        raise InfraError(
            f"the pattern {quoted(pattern)} takes more than {deadline_s:g} s with this output",
            hint="write it without one repetition within another",
        ) from error
    except (OSError, subprocess.CalledProcessError) as error:
        raise InfraError(f"cannot look for the pattern {quoted(pattern)}: {error}") from error
    found: list[str] = json.loads(done.stdout)
    return found


def _main() -> None:
    asked = json.load(sys.stdin)
    found = re.finditer(asked["pattern"], asked["text"], re.MULTILINE)
    groups = (match[1] for match in found if match[1] is not None)
    print(json.dumps(list(islice(groups, _MOST))))  # noqa: T201 - read by who started us


if __name__ == "__main__":
    _main()
