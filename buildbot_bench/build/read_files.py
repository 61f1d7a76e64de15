"""The list of source files that a kernel's build read, by the dependency files beside objects."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from posixpath import basename, splitext

from buildbot_bench.core.elf import source_names
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.read_files import SUFFIX, ReadFiles, pack_read_files

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".S", ".s")


def list_beside(kernel: Path) -> Path:
    """Where the list of a kernel, or of an archive, lies."""
    return kernel.with_name(kernel.name + SUFFIX)


def forget_list(kernel: Path) -> None:
    """Remove the list of an earlier kernel of that name."""
    list_beside(kernel).unlink(missing_ok=True)


def write_list(
    kernel: Path,
    source: Path,
    objects: Path,
    *,
    program: Path | None = None,
    more: Iterable[str] = (),
) -> str:
    """Write the list of what a build read, and say what it holds, or why there is none.

    `objects` is where the dependency files are; `more` are further names of the list. Where the
    `program` is given, the list must have each source that its symbols name.
    """
    forget_list(kernel)
    source, objects = source.resolve(), objects.resolve()
    listed = listed_by_compilers(source, objects)
    files = {*listed.files, *_ending_with(source, listed.astray)}
    if not files:
        return f"files that were read: not known, no compiler left a list below {objects}"
    if silent := _silent(source, objects, files) or _unlisted(source, program, files):
        return f"files that were read: not known, the compiler left no list for {silent}"
    try:
        packed = pack_read_files(ReadFiles(names=frozenset(files.union(more))))
    except UsageError as error:
        return f"files that were read: not known; {error.message}"
    unfinished = list_beside(kernel).with_name(f".{kernel.name}{SUFFIX}.part")
    unfinished.write_bytes(packed)
    unfinished.replace(list_beside(kernel))
    return f"files that were read: {len(files)}, {list_beside(kernel)}"


def _silent(source: Path, objects: Path, files: set[str]) -> str:
    """An object without a list, of a source of the tree that is in no other list; "" if none.

    Some objects are made of what is generated, or by scripts, which have no source of their name.
    """
    listed = {Path(name).stem for name in files if name.endswith(_SOURCES)}
    alone = {
        name.removesuffix(".o"): name
        for _, _, names in os.walk(objects)
        for name in names
        if name.endswith(".o") and not _has_list(name, set(names))
    }
    suspects = alone.keys() - listed
    if not suspects:
        return ""
    for name in _files_below(source):
        stem, suffix = splitext(basename(name))
        if stem in suspects and suffix in _SOURCES:
            return alone[stem]
    return ""


def _unlisted(source: Path, program: Path | None, files: set[str]) -> str:
    """A source of the tree that was linked and that no list has; "" if there is none.

    cc(1) with several sources leaves the list of the last one alone.
    """
    if program is None or not program.is_file():
        return ""
    linked = {name for name in source_names(program.read_bytes()) if name.endswith(_SOURCES)}
    missing = linked - {basename(name) for name in files}
    found = (basename(name) for name in _files_below(source) if basename(name) in missing)
    return next(found, "")


def _ending_with(source: Path, astray: Collection[str]) -> Iterator[str]:
    """The files of the tree that a name may mean, wherever the compiler ran: rather too many."""
    ends = {name.rpartition("../")[2].removeprefix("./") for name in astray}
    names = {basename(end) for end in ends}
    for name in _files_below(source) if names else ():
        if basename(name) in names and any(f"/{name}".endswith(f"/{end}") for end in ends):
            yield name


def _files_below(source: Path) -> Iterator[str]:
    for directory, directories, names in os.walk(source):
        if ".git" in directories:
            directories.remove(".git")
        where = directory.removeprefix(str(source)).lstrip("/")
        yield from (f"{where}/{name}".lstrip("/") for name in names)


def _has_list(name: str, beside: set[str]) -> bool:
    own = {f".depend.{name}", ".depend", f"{name.removesuffix('.o')}.d", f"{name}.d"}
    return any(is_dependency_file(one) and one in beside for one in own)


# Dependency files hold make's own rules, `object: source …`: `.depend.x.o`, `.depend` of FreeBSD's
# make, and the `x.d` that `cc -MD` leaves.
#
# A blank within a name has a backslash before it; one that ends a line continues it.
_WORD = re.compile(r"(?:\\[^\n]|[^\s\\])+")
_ESCAPED = re.compile(r"\\([\s#:\\])")


def is_freebsd_list(name: str) -> bool:
    """Whether FreeBSD's make leaves a dependency file of that name."""
    return name.startswith(".depend")


def is_dependency_file(name: str) -> bool:
    """Whether a compiler or FreeBSD's make leaves a dependency file of that name."""
    return is_freebsd_list(name) or name.endswith(".d")


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """What dependency files name: `files` of the source tree, and what is `astray`.

    A name is relative to where the compiler ran, which its list does not say; astray are those that
    are no file there, as far as is known.
    """

    files: frozenset[str]
    astray: frozenset[str]


def listed_by_compilers(
    source: Path, objects: Path, is_list: Callable[[str], bool] = is_dependency_file
) -> Listed:
    """The files of the source tree in all dependency files below a directory; both are absolute.

    Some headers are linked to from among the objects, and named by the link's name; a link within
    the tree is listed by both names.
    """
    tree = _Tree(source)
    files, astray, absolute = set[str](), set[str](), set[str]()
    for directory, _, names in os.walk(objects):
        words: set[str] = set()
        for name in names:
            file = Path(directory, name)
            if is_list(name) and file.is_file():
                words.update(_words(file.read_text(errors="surrogateescape")))
        absolute.update(word for word in words if word.startswith("/"))
        places = {directory, str(objects), str(source)}
        for word in words - absolute:
            paths = [path for place in places if _is_file(path := f"{place}/{word}")]
            files.update(*map(tree.names_of, paths))
            if not paths:
                astray.add(word)
    files.update(*(tree.names_of(word) for word in absolute if _is_file(word)))
    return Listed(files=frozenset(files), astray=frozenset(astray))


class _Tree:
    """Names files of the tree; a kernel's lists name few directories, and each many times."""

    def __init__(self, source: Path) -> None:
        self._prefix = f"{source}/"
        self._real_directory = lru_cache(maxsize=None)(os.path.realpath)

    def names_of(self, path: str) -> Iterator[str]:
        """What the tree calls a file: its name, and that of what it links to."""
        directory, _, name = path.rpartition("/")
        real = f"{self._real_directory(directory)}/{name}"
        for known in {os.path.normpath(path), real, *self._behind(real)}:
            if known.startswith(self._prefix):
                yield os.path.normpath(known).removeprefix(self._prefix)

    @staticmethod
    def _behind(path: str) -> Iterator[str]:
        if os.path.islink(path):  # noqa: PTH114 - so many are asked for
            yield os.path.realpath(path)


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - so many are asked for


def _words(text: str) -> set[str]:
    text = text.replace("\\\n", " ")
    if "\\" not in text and "$" not in text:  # as nearly all are, of which a kernel has 9000
        words = set(text.split())
    else:
        plain = (_ESCAPED.sub(r"\1", word) for word in _WORD.findall(text))
        words = {word.replace("$$", "$") for word in plain}
    return {word for word in words if word[-1] != ":"}
