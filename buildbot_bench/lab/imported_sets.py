"""The configuration sets in a directory tree of bench-lab.sh, whose shell files no shell reads."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import one_line, quoted
from buildbot_bench.lab.hardware.config_set import is_empty, parts_of

_NAMED = 5  # files that a remark names; it counts the others


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSet:
    """One configuration set, and whether it has a part for a reference endpoint."""

    name: str
    path: Path
    has_reference: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedSets:
    """The sets of a tree in the order of their names, and the files that none of them can use."""

    root: Path
    sets: tuple[ImportedSet, ...]
    unusable: tuple[Path, ...]

    @property
    def remark(self) -> str:
        """How many files cannot be used, and which; empty when all can."""
        if not self.unusable:
            return ""
        names = [one_line(str(path.relative_to(self.root))) for path in self.unusable]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        files = "1 file" if len(names) == 1 else f"{len(names)} files"
        root = one_line(str(self.root), columns=300)
        return f"{files} of {root} cannot be used: {', '.join(names[:_NAMED])}{more}"


def read_sets(root: Path) -> ImportedSets:
    """All sets of a tree."""
    if not root.is_dir():
        raise UsageError(
            f"there is no directory {root}", hint="name the one that bench-lab.sh gets by -c"
        )
    try:
        entries = sorted(root.iterdir())
        sets = [_set(entry) for entry in entries if entry.is_dir()]
        unusable = [entry for entry in entries if not entry.is_dir()]
        unusable += [path for found in sets for path in _unusable(found.path)]
    except OSError as error:
        raise UsageError(f"cannot read {root}: {error}", hint="see its permissions") from error
    if not sets:
        raise UsageError(
            f"{root} holds no configuration set",
            hint="name a directory with a directory for each workload",
        )
    return ImportedSets(root=root, sets=tuple(sets), unusable=tuple(unusable))


def _set(path: Path) -> ImportedSet:
    if is_empty(path):
        raise UsageError(
            f"the configuration set {path} holds no file",
            hint="put its etc/ and boot/ there, or remove it",
        )
    has_reference = parts_of(path).reference is not None
    return ImportedSet(name=path.name, path=path, has_reference=has_reference)


def _unusable(path: Path) -> Iterator[Path]:
    """What lies beside the parts of a set, and what is no file, or one that nobody can read."""
    parts = parts_of(path)
    places = [part for part in (parts.dut, parts.reference) if part is not None]
    for file in sorted(path.rglob("*")):
        if file.is_dir() and not file.is_symlink():
            continue
        belongs = any(file.is_relative_to(place) for place in places)
        if not belongs or not _is_usable(file):
            yield file


def _is_usable(file: Path) -> bool:
    if not file.name.isprintable():
        return False
    return file.is_symlink() or (file.is_file() and os.access(file, os.R_OK))


# What is understood: comments, VAR="text", : ${VAR:="text"} (a default), and ${VAR} or $VAR
# inside.
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
