"""The list of source files that a build read, kept as a small file beside its kernel.

The file is compressed by zlib: a heading, then one name a line. A name is relative to the source
tree and ends in a slash for a directory of which every file counts. A list that was cut is no list:
what may be missing from it cannot be presumed unread.
"""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from posixpath import basename, dirname, splitext
from re import compile as pattern

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

SUFFIX = ".read-files"
_HEADING = "bench-read-files 1"
# GENERIC with all its modules reads some 12 000 files; chosen: four times that.
MOST_FILES = 50_000
_MOST_NAME = 400  # characters; chosen: twice what FreeBSD's longest paths have
MOST_TEXT = 1 << 23  # bytes, of all names
MOST_BYTES = 1 << 21  # compressed; paths shrink to a sixth

# What a compiler reads, and lists when it does: such a file that no list has was not read.
_COMPILED = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".S", ".s"})
# What nothing is built from, wherever it lies.
_PROSE = pattern(
    r"(?:README|LICENSE|COPYRIGHT|COPYING|MAINTAINERS|CODEOWNERS|CONTRIBUTING|UPDATING|RELNOTES)"
    r"(?:\..*)?|.*\.(?:md|rst|adoc|[1-9])"
)
# What decides how a kernel is built, and which no compiler lists.
_CONFIGURATION = pattern(
    r"(?:BSD|GNU)?[Mm]akefile.*|.*\.(?:mk|mak|cmake|conf)|CMakeLists\.txt|meson.*|K(?:config|build).*"
)
_CONFIGURATION_DIRECTORY = "conf"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """A file that a commit changes. `edited`: a plain file before and after, of another content.

    A file that is added or removed, or a link, counts as read without any list: a new header may
    hide another one, and a file that is gone stands in no later list.
    """

    path: str
    edited: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFiles:
    """The files, and directories with a slash, that a build read; `roots` are their top ones."""

    names: frozenset[str]
    roots: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know the roots: many commits are held against one list."""
        files = (name for name in self.names if not name.endswith("/"))
        roots = frozenset(name.partition("/")[0] for name in files)
        object.__setattr__(self, "roots", roots)

    def touched_by(self, changes: Iterable[FileChange]) -> bool:
        """Whether a commit may change what the build made: it touches what was read, or may be."""
        return any(self._counts(change) for change in changes)

    def _counts(self, change: FileChange) -> bool:
        path, name = change.path, basename(change.path)
        if not change.edited or path in self.names:
            return True
        directory = dirname(path)
        if _CONFIGURATION.fullmatch(name) or _CONFIGURATION_DIRECTORY in directory.split("/"):
            return True
        if _PROSE.fullmatch(name):
            return False
        if f"{directory}/" in self.names:
            return True
        # Scripts, grammars and tables are read by programs that list nothing.
        return splitext(name)[1] not in _COMPILED and (
            not directory or path.partition("/")[0] in self.roots
        )


def union(lists: Iterable[ReadFiles]) -> ReadFiles:
    """What any of several builds read."""
    return ReadFiles(names=frozenset().union(*(one.names for one in lists)))


def pack_read_files(read: ReadFiles) -> bytes:
    """The list as a file; the same list gives the same bytes."""
    names = sorted(read.names)
    text = "\n".join([_HEADING, *names, ""]).encode("utf-8", "surrogateescape")
    packed = zlib.compress(text, 9)
    fault = _fault(names) or ("it is too large" if len(text) > MOST_TEXT else "")
    if fault or len(packed) > MOST_BYTES:
        raise UsageError(f"the list of files that were read cannot be used: {fault or 'too large'}")
    return packed


def parse_read_files(packed: bytes) -> ReadFiles:
    """Read such a file."""
    decompressor = zlib.decompressobj()
    try:
        text = decompressor.decompress(packed[:MOST_BYTES], MOST_TEXT).decode("utf-8")
    except (zlib.error, UnicodeDecodeError) as error:
        raise UsageError(f"this is no list of files that were read: {error}") from error
    heading, *names = text.split("\n")
    if not decompressor.eof or heading != _HEADING or names[-1:] != [""]:
        raise UsageError("this is no whole list of files that were read")
    if fault := _fault(names[:-1]):
        raise UsageError(f"the list of files that were read cannot be used: {fault}")
    return ReadFiles(names=frozenset(names[:-1]))


def _fault(names: list[str]) -> str:
    if not names:
        return "it is empty"
    if len(names) > MOST_FILES:
        return f"it has {len(names)} names"
    odd = next((name for name in names if not _is_name(name)), None)
    return "" if odd is None else f"{quoted(odd)} is no name"


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _MOST_NAME and name.isprintable()
