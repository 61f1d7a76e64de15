"""The few statements that every table is read and changed by; knows no table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

# The largest number in our columns of integers: PostgreSQL's have 32 bits.
MOST = 2**31 - 1

# The first of the two numbers of our advisory locks, "benc": no other program's locks are met.
_LOCK_SPACE = 0x62656E63


class Lock(IntEnum):
    """What only one transaction of all masters may do at a time."""

    UPGRADE = 1
    COMMITS = 2


class Versioned(Protocol):
    """A row that is changed by compare-and-swap."""

    @property
    def id(self) -> int:
        """The row's primary key."""

    @property
    def version(self) -> int:
        """How often the row was changed."""


Row = TypeVar("Row")
VersionedRow = TypeVar("VersionedRow", bound=Versioned)


def serialise(conn: sa.Connection, lock: Lock) -> None:
    """Wait until no other transaction holds the lock; it is held until this one ends.

    SQLite needs nothing: a writing transaction (see transactions.py) has the file to itself.
    """
    if conn.dialect.name == "postgresql":
        conn.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_SPACE, int(lock))))


def fetch_all(conn: sa.Connection, query: sa.Select[Any], kind: type[Row]) -> list[Row]:
    """The rows of a query whose columns are the fields of `kind`."""
    return [kind(**row) for row in conn.execute(query).mappings()]


def fetch(conn: sa.Connection, query: sa.Select[Any], kind: type[Row]) -> Row | None:
    """The first row of a query, or None."""
    row = conn.execute(query.limit(1)).mappings().first()
    return None if row is None else kind(**row)


def by_id(conn: sa.Connection, table: sa.Table, kind: type[Row], row_id: int) -> Row | None:
    """The row with that primary key, or None."""
    return fetch(conn, sa.select(table).where(table.c.id == row_id), kind)


def insert_unless_known(conn: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Add a row unless one of the table's unique keys is taken; say whether it was added."""
    dialect = postgresql if conn.dialect.name == "postgresql" else sqlite
    insert = dialect.insert(table).values(**values).on_conflict_do_nothing()
    return conn.execute(insert.returning(table.c.id)).first() is not None


def ensure(
    conn: sa.Connection,
    table: sa.Table,
    kind: type[Row],
    key: Mapping[str, Any],
    others: Mapping[str, Any],
) -> Row:
    """The row with that unique key, added with the other values when there was none."""
    insert_unless_known(conn, table, {**key, **others})
    query = sa.select(table).where(*(table.c[name] == value for name, value in key.items()))
    return kind(**conn.execute(query).mappings().one())


def compare_and_swap(
    conn: sa.Connection, table: sa.Table, row: VersionedRow, columns: Mapping[str, Any]
) -> VersionedRow | None:
    """Change a row if it is still the one that was seen; None when another was quicker."""
    update = (
        sa.update(table)
        .where(table.c.id == row.id, table.c.version == row.version)
        .values({**columns, "version": row.version + 1})
    )
    if conn.execute(update).rowcount != 1:
        return None
    return by_id(conn, table, type(row), row.id)
