"""The assignments of a shell configuration, read without a shell.

What is understood: comments, VAR="text", : ${VAR:="text"} (a default), and ${VAR} or $VAR inside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_DEFAULT = re.compile(r":\s+\$\{([A-Za-z_]\w*):?=(.*)\}", re.ASCII | re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_REMARK = re.compile(r"\s#")
_MEANT_FOR_A_SHELL = re.compile(r"[\s;&|<>\"'\\]")
_LONGEST = 64 * 1024  # characters of a value: expansions of expansions grow without end


def read_assignments(path: Path) -> dict[str, str]:
    """The variables of a file, in order."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read the configuration: {error}") from error
    values: dict[str, str] = {}
    for number, line in _statements(text):
        where = f"{path}:{number}"
        if match := _DEFAULT.fullmatch(line):
            values.setdefault(match[1], _expand(_unquoted(match[2], where), values, where))
        elif match := _ASSIGNMENT.fullmatch(line):
            values[match[1]] = _expand(_unquoted(match[2], where), values, where)
        else:
            raise UsageError(
                f"{where}: not an assignment: {quoted(line, columns=60)}",
                hint="a configuration is read, never run: write its result there",
            )
    return values


def _statements(text: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers; a backslash continues one."""
    statements: list[tuple[int, str]] = []
    held, began = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        began = began if held else number
        if raw.endswith("\\"):
            held += raw[:-1] + " "
            continue
        line = (held + raw).strip()
        held = ""
        if line and not line.startswith("#"):
            statements.append((began, line))
    return statements


def _unquoted(text: str, where: str) -> str:
    """A value without its quotes and the comment behind it."""
    text = text.strip()
    if "`" in text or "$(" in text:
        raise UsageError(
            f"{where}: a command is not run: {quoted(text, columns=60)}", hint="write its result"
        )
    if text[:1] in {'"', "'"}:
        quote = text[0]
        value, closed, rest = text[1:].partition(quote)
        if not closed or (rest.strip() and not rest.strip().startswith("#")):
            raise UsageError(
                f"{where}: cannot read {quoted(text, columns=60)}", hint="quote it once, as a whole"
            )
        return value
    value = _REMARK.split(text, maxsplit=1)[0].strip()
    if _MEANT_FOR_A_SHELL.search(value):
        raise UsageError(
            f"{where}: cannot read {quoted(value, columns=60)}", hint="quote it once, as a whole"
        )
    return value


def _expand(text: str, values: Mapping[str, str], where: str) -> str:
    expanded = _VARIABLE.sub(lambda match: values.get(match[1] or match[2], ""), text)
    if len(expanded) > _LONGEST:
        raise UsageError(f"{where}: the value is too long")
    return expanded
