"""What a kernel's build leaves: a reproducible archive, and the list of source files it read."""

import io
import lzma
import os
import re
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from posixpath import basename, splitext

from buildbot_bench.archives.contents import MANIFEST_NAME, Manifest, neutral_digest, write_manifest
from buildbot_bench.core import elf
from buildbot_bench.core.errors import UntestableRevision, UsageError
from buildbot_bench.core.read_files import SUFFIX, ReadFiles, pack_read_files

_PRESET = 0  # xz -0: 3 % larger than -1 makes it, in two thirds of its time


def files_below(directory: Path) -> dict[str, Path]:
    """The files of an installed kernel by their names in the archive."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    whole = directory.resolve()
    for path in found:
        if not path.resolve().is_relative_to(whole):
            raise UntestableRevision(
                f"{path.relative_to(directory)} is a symbolic link that leads out of the kernel"
            )
    return {str(path.relative_to(directory)): path for path in found}


def write_hints(directory: Path) -> None:
    """Write the index of an installed kernel's modules, unless its own build system did."""
    if (directory / elf.NAME).exists():
        return
    modules = {path.name: path for path in directory.glob("*.ko") if not path.is_symlink()}
    index = elf.linker_hints({name: path.read_bytes() for name, path in modules.items()})
    if index:
        (directory / elf.NAME).write_bytes(index)


def pack(files: Mapping[str, Path], manifest: Manifest, output: Path) -> Manifest:
    """Write the archive; returns the manifest with the digests of what was packed."""
    if not any(Path(name).name == "kernel" for name in files):
        raise UntestableRevision("the build made no kernel")
    digests = {name: neutral_digest(path.read_bytes()) for name, path in files.items()}
    whole = replace(manifest, files=digests)
    unfinished = output.with_name(f".{output.name}.part")
    with (
        lzma.open(unfinished, "wb", preset=_PRESET) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        _add(archive, MANIFEST_NAME, write_manifest(whole).encode())
        for name, path in sorted(files.items()):
            _add(archive, name, path.read_bytes())
    unfinished.replace(output)
    return whole


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o555
    archive.addfile(info, io.BytesIO(content))


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
    linked = {name for name in elf.source_names(program.read_bytes()) if name.endswith(_SOURCES)}
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
