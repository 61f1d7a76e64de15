"""The source files that compilers read, by the dependency files beside objects.

They are make's own rules, `object: source header …`: `.depend.x.o` and `.depend` of FreeBSD's make,
and the `x.d` that `cc -MD` leaves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

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
    """The names after the colons."""
    text = text.replace("\\\n", " ")
    if "\\" not in text and "$" not in text:  # as nearly all are, of which a kernel has 9000
        words = set(text.split())
    else:
        plain = (_ESCAPED.sub(r"\1", word) for word in _WORD.findall(text))
        words = {word.replace("$$", "$") for word in plain}
    return {word for word in words if word[-1] != ":"}
