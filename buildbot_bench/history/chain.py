"""The first-parent chain of a branch, positions along it, and the file that keeps them."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile

from buildbot_bench.history.git import streaming_git

# Raise the digit with each change of what the columns mean.
_MAGIC = b"benchix1"
# Magic, kind, the git object that it was read from, number of columns, checksum of what follows.
# In the machine's own order of bytes: for a machine of another order, the checksum is wrong.
_HEADER = struct.Struct("=8s4s20sII")
_LENGTH = struct.Struct("=Q")


def write_columns(path: Path, kind: bytes, key: bytes, columns: Sequence[bytes]) -> None:
    """Put a file in the place of another, at once; OSError when the disk does not take it.

    `kind` has 4 bytes, `key` the 20 of a git hash.
    """
    body = b"".join((*(_LENGTH.pack(len(column)) for column in columns), *columns))
    path.parent.mkdir(exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(_HEADER.pack(_MAGIC, kind, key, len(columns), zlib.crc32(body)))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read_columns(path: Path, kind: bytes) -> tuple[bytes, tuple[memoryview, ...]] | None:
    """The key and the columns of a file; None when there is none, or none that can be trusted.

    The columns are the file itself: they take memory only where they are read, and stay as they
    are when another file takes its place.
    """
    try:
        with path.open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # mmap refuses an empty file with a ValueError
        return None
    if len(whole) < _HEADER.size:
        return None
    magic, found, key, count, checksum = _HEADER.unpack_from(whole)
    body = whole[_HEADER.size :]
    if (magic, found) != (_MAGIC, kind) or zlib.crc32(body) != checksum:
        return None
    lengths = [_LENGTH.unpack_from(body, i * _LENGTH.size)[0] for i in range(count)]
    columns, start = list[memoryview](), count * _LENGTH.size
    for length in lengths:
        columns.append(body[start : start + length])
        start += length
    return key, tuple(columns)


OID_SIZE = 20
Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class OidTable:
    """Hashes in an order of their own, and the order of their bytes beside it."""

    oids: Buffer
    order: Sequence[int]

    @classmethod
    def of(cls, oids: Buffer) -> OidTable:
        """The table of hashes that stand one after the other."""
        view = memoryview(oids)
        order = sorted(
            range(len(view) // OID_SIZE),
            key=lambda i: bytes(view[i * OID_SIZE : (i + 1) * OID_SIZE]),
        )
        return cls(oids, array("I", order))

    @classmethod
    def stored(cls, oids: memoryview, order: memoryview) -> OidTable:
        """The table of the two columns as `columns` gave them."""
        return cls(oids, order.cast("I"))

    def columns(self) -> tuple[bytes, bytes]:
        """What `stored` takes, for a file."""
        return bytes(self.oids), array("I", self.order).tobytes()

    def __len__(self) -> int:
        return len(self.oids) // OID_SIZE

    def __getitem__(self, index: int) -> bytes:
        return bytes(self.oids[index * OID_SIZE : (index + 1) * OID_SIZE])

    def find(self, oid: bytes) -> int | None:
        """Where a hash stands; None when it does not."""
        place = bisect_left(self.order, oid, key=self.__getitem__)
        if place < len(self.order) and self[self.order[place]] == oid:
            return self.order[place]
        return None


# Reading that many again costs some hundredths of a second at a start.
KEPT_IN_MEMORY = 1000
_KIND = b"line"
_TIMEOUT_S = 3600.0
_PROGRESS_EACH = 5000


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """All first-parent commits from the root to a tip; the root has position 1.

    The first `kept` are those of a table, which is large, may lie in a file and never changes; the
    `tail` came later. Hashes are text.
    """

    table: OidTable = field(default_factory=lambda: OidTable.of(b""))
    kept: int = 0
    tail: tuple[str, ...] = ()
    _places: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.kept + len(self.tail)

    def sha(self, position: int) -> str:
        """The commit at a position, from 1 to the chain's length."""
        if position > self.kept:
            return self.tail[position - self.kept - 1]
        return self.table[position - 1].hex()

    def between(self, first: int, last: int) -> Iterator[str]:
        """The commits from a position to another, oldest first, both included."""
        return map(self.sha, range(first, last + 1))

    def position(self, sha: str) -> int | None:
        """Where a commit stands; None when it is not of this chain."""
        known = self.known_position(sha)
        if known is None or known > len(self) or self.sha(known) != sha:
            return None
        return known

    def known_position(self, sha: str) -> int | None:
        """The same, of commits too that the branch has left: a position is a commit's own."""
        if sha in self._places:
            return self._places[sha]
        index = self.table.find(bytes.fromhex(sha))
        return None if index is None else index + 1

    def shared_with(self, other: Chain) -> int:
        """How many of the first commits another chain has too: it was led away from this one."""
        return bisect_left(
            range(1, min(len(self), len(other)) + 1),
            x=True,
            key=lambda position: self.sha(position) != other.sha(position),
        )

    def moved_to(self, mirror: Path, tip: str, on_progress: Callable[[int], None]) -> Chain:
        """The chain that ends at another commit; only what the two do not share is read.

        `on_progress` gets how many commits were read, now and then. Raises InfraError for a commit
        that the mirror lacks.
        """
        position, following = self._descent(mirror, tip, on_progress)
        kept = min(position, self.kept)
        tail = self.tail[: position - kept] + following
        places = {sha: place for place, sha in enumerate(tail, kept + 1)}
        return Chain(table=self.table, kept=kept, tail=tail, _places=places)

    def _descent(
        self, mirror: Path, tip: str, on_progress: Callable[[int], None]
    ) -> tuple[int, tuple[str, ...]]:
        """The position where a commit's own chain leaves this one, and what follows, oldest first.

        The position is 0 when they have nothing in common.
        """
        if (position := self.position(tip)) is not None:
            return position, ()
        following = list[str]()
        with closing(first_parents(mirror, tip)) as shas:
            for sha in shas:
                if (position := self.position(sha)) is not None:
                    break
                following.append(sha)
                if len(following) % _PROGRESS_EACH == 0:
                    on_progress(len(following))
        following.reverse()
        return position or 0, tuple(following)


def first_parents(mirror: Path, sha: str) -> Generator[str]:
    """A commit, its first parent, the first parent of that one and so on to the root."""
    asked = ("--first-parent", "--end-of-options", sha)
    with streaming_git(mirror, "rev-list", *asked, timeout_s=_TIMEOUT_S) as output:
        for line in output:
            yield line.decode("ascii").rstrip("\n")


def stored_chain(path: Path) -> Chain:
    """The chain that a file holds; an empty one when there is none that can be trusted."""
    match read_columns(path, _KIND):
        case (key, (oids, order)) if len(oids) == OID_SIZE * (len(order) // 4):
            table = OidTable.stored(oids, order)
            if len(table) and table[len(table) - 1] == key:
                return Chain(table=table, kept=len(table))
    return Chain()


def with_short_tail(chain: Chain, path: Path) -> Chain:
    """The same chain, written to a file when its tail has become long.

    A disk that does not take it costs the next start some time, and nothing else.
    """
    if len(chain.tail) < KEPT_IN_MEMORY:
        return chain
    start = memoryview(chain.table.oids)[: chain.kept * OID_SIZE]
    table = OidTable.of(b"".join((start, bytes.fromhex("".join(chain.tail)))))
    tip = table[len(table) - 1]
    with suppress(OSError):
        write_columns(path, _KIND, tip, table.columns())
        stored = stored_chain(path)
        if len(stored) == len(table) and stored.table[len(table) - 1] == tip:
            return stored  # which takes no memory
    return Chain(table=table, kept=len(table))
