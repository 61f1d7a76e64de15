"""The reading of a hostile patch: files, strip level, refused hunk, and functions that it changes.

Functions match by name, which is no proof: compilers inline functions, and a changed structure
moves cycles of functions that the commit does not name.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from types import MappingProxyType

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import Count
from buildbot_bench.core.profile.model import lies_in

# FreeBSD's largest reviews are a few hundred kilobytes, some ten thousand lines. unidiff reads
# MOST_LINES in about a second, whatever stands in them; 4 MiB of empty lines would take it 24 s.
MOST_BYTES = 4 * 1024 * 1024
MOST_LINES = 200_000
# Controls are spelled out for who is to approve a patch (core.legible.spelled_out), each in eight
# characters; what else nobody sees takes more bytes. A carriage return may end each line. FreeBSD's
# own sources have some form feeds and escapes a file.
MOST_CONTROLS = 10_000
_CONTROLS = bytes(code for code in (*range(32), 127) if code not in b"\t\n\r")

# What begins a line of a file's header, of a hunk and of its contents. unidiff's patterns for
# other lines take quadratic time: 73 s for a "Binary files" of 160 kB.
_DIFF = frozenset("+- \\@\r\n")

_MISFIT = re.compile(r"^error: patch failed: (.{1,500}):(\d{1,9})\r?$", re.MULTILINE | re.ASCII)
_COMPLAINT = re.compile(r"^(?:error|fatal): (.{1,300}?)\r?$", re.MULTILINE)

_HINT = "give a unified diff, as `git diff` writes it"


def check_patch(body: bytes, name: str) -> None:
    """Read a patch that somebody hands in, and keep nothing of it."""
    for size, most, unit in (
        (len(body), MOST_BYTES, "bytes"),
        (body.count(b"\n"), MOST_LINES, "lines"),
        (body.count(b"\r"), MOST_LINES, "carriage returns"),
        (len(body) - len(body.translate(None, _CONTROLS)), MOST_CONTROLS, "control characters"),
    ):
        if size > most:
            raise UsageError(
                f"{name} has {size} {unit}, more than {most}",
                hint="commit it to a branch and name that",
            )
    text = body.decode("utf-8", "replace")
    try:
        changes = bool(read_diff(text, contents=False)) or "\nrename to " in text
    except UsageError as error:
        raise UsageError(f"{name} is no patch: {error}", hint=_HINT) from error
    if not changes:
        raise UsageError(f"{name} is no patch", hint=_HINT)


def read_diff(text: str, *, contents: bool = True) -> list[PatchedFile]:
    """The files of a unified diff that have hunks; without `contents`, their hunks have no lines.

    Raises UsageError for a hunk that is not as long as its header says, or belongs to no file.
    """
    lines = (line for line in StringIO(text) if line[0] in _DIFF)
    try:
        return [file for file in PatchSet(lines, metadata_only=not contents) if file]
    except (UnidiffParseError, ValueError) as error:  # ValueError: a number of 4300 digits
        reason, _, _hostile_line = str(error).partition(":")
        raise UsageError(reason) from error


def strip_level(body: str) -> int:
    """How many leading directories are not the tree's: 1 for git's a/ and b/, or damage; else 0."""
    try:
        return _strip_level(read_diff(body, contents=False))
    except UsageError:
        return 1


def misfit(body: str, complaint: str) -> str:
    """What git said of a patch that it refused, for a reader: `sys/net/if.c, hunk 3`."""
    if found := _MISFIT.search(complaint):
        path, line = found[1], int(found[2])
        hunk = _hunk_at(body, path, line)
        return f"{path}, hunk {hunk}" if hunk else f"{path}, line {line}"
    if found := _COMPLAINT.search(complaint):
        return found[1]
    return "git refuses it without a reason"


def _names(file: PatchedFile) -> tuple[str, str]:
    return file.source_file.rstrip(), file.target_file.rstrip()


def _strip_level(files: Sequence[PatchedFile]) -> int:
    names = {name for file in files for name in _names(file)} - {"/dev/null"}
    return 1 if names and all(name.startswith(("a/", "b/")) for name in names) else 0


def _hunk_at(body: str, path: str, line: int) -> int | None:
    """The number of the hunk of a file that begins at a line of the old text; counted from 1."""
    try:
        files = read_diff(body, contents=False)
    except UsageError:
        return None
    level = _strip_level(files)
    for file in files:
        if path in [name.split("/", level)[-1] for name in _names(file)]:
            for number, hunk in enumerate(file, start=1):
                if hunk.source_start == line:
                    return number
    return None


_WORD = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)
_CALLED = re.compile(r"([A-Za-z_]\w{0,200})\s*\(", re.ASCII)
# What style(9) has in the first column: a type, a comment, a declaration or the name of a function.
_OUTSIDE = re.compile(r"[A-Za-z_/]")
_NOWHERE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedLine:
    """A line that a commit takes out (`old` is its number) or puts in (`new`), never both.

    `function` is the one that it likely lies in, empty outside of all.
    """

    function: str
    old: Count | None
    new: Count | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedFile:
    """A file of the commit: functions whose share changed and within which it changes a line.

    `named` are such functions that its changed lines but name. `lines` are those within
    `changed`, and `unshown` how many more there are.
    """

    path: str
    changed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    lines: tuple[ChangedLine, ...] = ()
    unshown: Count = 0

    @property
    def first_line(self) -> int | None:
        """The first of the lines that the commit puts in; None when it shows none of these."""
        return next((line.new for line in self.lines if line.new is not None), None)


def overlaps(
    diff: str, names: Collection[str], places: Mapping[str, str] = _NOWHERE
) -> tuple[ChangedFile, ...]:
    """The files of a diff, as `git diff -U0` writes it, that overlap any of the names.

    Those that change one come first; a file's names stand in the order of `names`. A function
    whose place (`path:line`) is known is changed in that file and in no other. A damaged diff
    meets none.
    """
    try:
        met = [_overlap(file, names, places) for file in read_diff(diff)]
    except UsageError:
        return ()
    found = [overlap for overlap in met if overlap.changed or overlap.named]
    return tuple(sorted(found, key=lambda overlap: not overlap.changed))


def _overlap(file: PatchedFile, names: Collection[str], places: Mapping[str, str]) -> ChangedFile:
    known = frozenset(names)
    path, lines = file.path, [line for hunk in file for line in _changed_lines(hunk)]
    within = known & {line.function for line in lines}
    words = known & {word for line in lines for word in _WORD.findall(line.text)}
    changed = {name for name in within if name not in places or lies_in(places[name], path)}
    return ChangedFile(
        path=path,
        changed=tuple(name for name in names if name in changed),
        named=tuple(name for name in names if name in words - within),
        lines=tuple(line for line in lines if line.function in changed),
    )


def _changed_lines(hunk: Hunk) -> Iterator[ChangedLine]:
    """The lines of a hunk that are not blank; its header has the line that begins its function."""
    around, side = _first_called(hunk.section_header), ""
    function = around
    for line in hunk:
        if not line.is_added and not line.is_removed:
            continue
        if line.line_type != side:  # the old lines of a hunk stand before the new ones
            function, side = around, line.line_type
        code = line.value.removesuffix("\n")
        function = _function_of(code, function)
        if code.strip():
            yield ChangedLine(
                function=function, old=line.source_line_no, new=line.target_line_no, text=code
            )
        function = "" if code.startswith("}") else function


def _function_of(code: str, before: str) -> str:
    """The function that a line lies in, `before` being that of the line before it."""
    stripped = code.rstrip()
    if not _OUTSIDE.match(code) or stripped.endswith(":"):  # a label is within
        return before
    return "" if code[0] == "/" or stripped.endswith(";") else _first_called(code)


def _first_called(code: str) -> str:
    called = _CALLED.search(code)
    return called[1] if called else ""
