"""The complete list of source files that a kernel's build read, written beside the kernel."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from posixpath import basename, splitext

from buildbot_bench.build.dependency_files import is_dependency_file, listed_by_compilers
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
    """All files of the tree, by their names in it."""
    for directory, directories, names in os.walk(source):
        if ".git" in directories:
            directories.remove(".git")
        where = directory.removeprefix(str(source)).lstrip("/")
        yield from (f"{where}/{name}".lstrip("/") for name in names)


def _has_list(name: str, beside: set[str]) -> bool:
    own = {f".depend.{name}", ".depend", f"{name.removesuffix('.o')}.d", f"{name}.d"}
    return any(is_dependency_file(one) and one in beside for one in own)
