"""The members of a tar archive, one after the other, each within its budget.

tarfile reads headers of any stated size at once (names that follow one another, pax records, maps
of holes); the bytes that it reads for one member are counted here.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from buildbot_bench.archives.decompressed import Decompressed
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.limits import KERNEL_ARCHIVE, ArchiveBudget, spoken

# What damaged and hostile archives make tarfile raise, besides its own errors.
DAMAGED = (
    *(tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error),
    *(ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One entry of an archive. `content` is read while it is the archive's newest."""

    info: tarfile.TarInfo
    archive: KernelTar

    def content(self) -> bytes | None:
        """Its bytes, at most the budget's; None for what is no file."""
        return self.archive.content(self.info)


class KernelTar:
    """A tar archive that is read once, from its beginning to its end."""

    def __init__(self, decompressed: Decompressed, budget: ArchiveBudget) -> None:
        self._budget = budget
        self._buffered = io.BufferedReader(decompressed)
        self._file = _Metered(self._buffered)
        self._tar: tarfile.TarFile | None = None

    @property
    def offset(self) -> int:
        """Where the next header is looked for."""
        return 0 if self._tar is None else self._tar.offset

    def begins_with_zeros(self) -> bool:
        """Whether nothing else comes first; also of a file without a byte."""
        return not self._buffered.peek().strip(b"\0")

    def __iter__(self) -> Iterator[Member]:
        """All entries."""
        count = 0
        while (info := self._next()) is not None:
            count += 1
            if count > self._budget.members:
                raise UntestableRevision(
                    f"the artefact has more than {self._budget.members} members"
                )
            if info.isreg() and info.size > self._budget.member_bytes:
                raise UntestableRevision(
                    f"{quoted(info.name)} in the artefact has {spoken(info.size)}, and a file may "
                    f"have {spoken(self._budget.member_bytes)}"
                )
            _check_holes(info)
            yield Member(info=info, archive=self)

    def content(self, info: tarfile.TarInfo) -> bytes | None:
        """The bytes of an entry; None for what is no file."""
        if self._tar is None or not info.isreg():
            return None
        # A file with holes may tell another size than it takes.
        self._file.left = self._budget.member_bytes + self._budget.header_bytes
        file = self._tar.extractfile(info)
        return b"" if file is None else file.read()

    def _next(self) -> tarfile.TarInfo | None:
        self._file.left = self._budget.header_bytes
        if self._tar is None:
            # What tarfile.open promises in its stub is a whole IO[bytes].
            self._tar = tarfile.open(fileobj=self._file, mode="r:")  # type: ignore[call-overload]  # noqa: SIM115
        # The first one is read when the archive is opened, and `next` gives it then.
        return self._tar.next()


def _check_holes(info: tarfile.TarInfo) -> None:
    """Refuse a sparse file whose pieces do not follow one another: tarfile would loop for ever."""
    at = 0
    for offset, size in getattr(info, "sparse", None) or ():
        if offset < at or size < 0:
            raise tarfile.TarError(f"the holes of {quoted(info.name)} overlap")
        at = offset + size
    if at > max(info.size, 0):
        raise tarfile.TarError(f"the holes of {quoted(info.name)} lie behind its end")


@contextmanager
def opened(
    path: Path, budget: ArchiveBudget = KERNEL_ARCHIVE
) -> Iterator[tuple[Decompressed, KernelTar]]:
    """A file and the archive that it may be; damage raises one of `DAMAGED` as it is read.

    Raises:
        UntestableRevision: The file is larger than the budget.
    """
    if path.stat().st_size > budget.total_bytes:
        raise UntestableRevision(f"the artefact has more than {spoken(budget.total_bytes)}")
    with path.open("rb") as packed:
        decompressed = Decompressed(packed, most=budget.total_bytes)
        yield decompressed, KernelTar(decompressed, budget)


class _Metered:
    """A file of which at most `left` bytes may be read."""

    def __init__(self, file: io.BufferedReader[Decompressed]) -> None:
        self._file = file
        self._most = self._left = 0

    @property
    def left(self) -> int:
        """How many bytes may be read."""
        return self._left

    @left.setter
    def left(self, count: int) -> None:
        self._most = self._left = count

    def read(self, size: int) -> bytes:
        """Read so many bytes."""
        self._left -= size
        if self._left < 0:
            raise UntestableRevision(
                f"a header in the artefact asks for more than {spoken(self._most)}"
            )
        return self._file.read(size)

    def seek(self, offset: int) -> int:
        """Pass over what lies before a place."""
        return self._file.seek(offset)

    def seekable(self) -> bool:
        """Forward it is."""
        return True

    def tell(self) -> int:
        """Where it is."""
        return self._file.tell()
