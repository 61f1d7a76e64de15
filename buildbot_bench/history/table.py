"""A table of 20-byte git hashes, searched by halving, in a tenth of a dictionary's memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

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
