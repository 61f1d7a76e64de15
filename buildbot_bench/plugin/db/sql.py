"""SQL statements that all queries share, locks, and the upgrade of the tables."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from enum import IntEnum
from pathlib import Path
from typing import Any, Concatenate, Protocol, TypeVar

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.dialects import postgresql, sqlite

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db.columns import table_of
from buildbot_bench.plugin.db.watch import watch

# The largest number in our columns of integers: PostgreSQL's have 32 bits.
MOST = 2**31 - 1

# The first of the two numbers of our advisory locks, "benc": no other program's locks are met.
_LOCK_SPACE = 0x62656E63


class Lock(IntEnum):
    """What only one transaction of all masters may do at a time."""

    UPGRADE = 1
    COMMITS = 2
    PATCHES = 3


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

    SQLite needs nothing: a writing transaction (see `take_write_lock`) has the file to itself.
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


def of_series(table: sa.Table, series: tuple[Any, Any]) -> tuple[sa.ColumnElement[bool], ...]:
    """The condition for the rows of a testbed and workload."""
    return table.c.testbed == series[0], table.c.workload == series[1]


def by_id(kind: type[Row]) -> Callable[[sa.Connection, int], Row | None]:
    """The query for the row with a primary key, or None."""
    return row_by(kind, "id")


def row_by(kind: type[Row], *names: str) -> Callable[Concatenate[sa.Connection, ...], Row | None]:
    """The query for the first row with these values in these columns, or None."""

    def query(conn: sa.Connection, *values: Any, **more: Any) -> Row | None:
        return fetch(conn, _where(kind, _asked(names, values, more)), kind)

    query.__name__ = _name(kind, names)
    return query


def rows_by(
    kind: type[Row], *names: str, **fixed: Any
) -> Callable[Concatenate[sa.Connection, ...], list[Row]]:
    """The query for the rows with these values in these columns, oldest first.

    A collection stands for any of its values; `fixed` values are those of every call.
    """

    def query(conn: sa.Connection, *values: Any, **more: Any) -> list[Row]:
        chosen = _where(kind, _asked(names, values, more) | fixed)
        return fetch_all(conn, chosen.order_by(table_of(kind).c.id), kind)

    query.__name__ = _name(kind, (*names, *fixed))
    return query


def _asked(names: Sequence[str], values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    asked = {**dict(zip(names, values, strict=False)), **named}
    if len(values) + len(named) != len(names) or asked.keys() != set(names):
        raise TypeError(f"the query wants {', '.join(names)}")
    return asked


def _name(kind: type, columns: Sequence[str]) -> str:
    return f"{kind.__name__} by {', '.join(columns)}"


def _where(kind: type, values: Mapping[str, Any]) -> sa.Select[Any]:
    table = table_of(kind)
    conditions = (
        table.c[name].in_(value)
        if isinstance(value, Collection) and not isinstance(value, str)
        else table.c[name] == value
        for name, value in values.items()
    )
    return sa.select(table).where(*conditions)


def insert_unless_known(conn: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Add a row unless one of the table's unique keys is taken; say whether it was added."""
    insert = insert_unknown(conn, table).values(**values)
    return conn.execute(insert.returning(table.c.id)).first() is not None


def insert_unknown(conn: sa.Connection, table: sa.Table) -> postgresql.Insert | sqlite.Insert:
    """Return the statement that adds rows, but for those of which a unique key is taken."""
    dialect = postgresql if conn.dialect.name == "postgresql" else sqlite
    return dialect.insert(table).on_conflict_do_nothing()


def ensure(
    conn: sa.Connection, kind: type[Row], key: Mapping[str, Any], others: Mapping[str, Any]
) -> Row:
    """The row with that unique key, added with the other values when there was none."""
    insert_unless_known(conn, table_of(kind), {**key, **others})
    return kind(**conn.execute(_where(kind, key)).mappings().one())


def since_row(table: sa.Table, row_id: int, *columns: sa.Column[Any]) -> sa.Subquery:
    """The id and some columns of the rows that came after one; those before it stay unread.

    The limit, which none reaches, keeps SQLite from reading all in the order that a grouping or a
    join around this would like.
    """
    query = sa.select(table.c.id, *columns).where(table.c.id > row_id)
    return query.order_by(table.c.id).limit(MOST).subquery()


def values_of(new: Any) -> dict[str, Any]:
    """The fields of a dataclass by their names, which are those of columns; values as they are."""
    return {field.name: getattr(new, field.name) for field in fields(new)}


def change(conn: sa.Connection, row: VersionedRow, /, **columns: Any) -> VersionedRow | None:
    """Change a row if it is still the one that was seen; None when another was quicker."""
    return by_id(type(row))(conn, row.id) if swapped(conn, row, columns) else None


def swapped(conn: sa.Connection, row: Versioned, columns: Mapping[str, Any]) -> bool:
    """The same, and only whether it was changed."""
    table = table_of(type(row))
    update = (
        sa.update(table)
        .where(table.c.id == row.id, table.c.version == row.version)
        .values({**columns, "version": row.version + 1})
    )
    return conn.execute(update).rowcount == 1


def take_write_lock(conn: sa.Connection) -> None:
    """Begin SQLite's transaction as a writer.

    Python's driver would begin it at the first change only, so that what was read before could
    already be outdated. PostgreSQL needs nothing: there, rows and advisory locks do it.
    """
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("BEGIN IMMEDIATE")


VERSION_TABLE = "bench_alembic_version"

_MIGRATIONS = Path(__file__).parent / "migrations"
_DIALECTS = ("sqlite", "postgresql")
# Until 1.0, revisions were numbered, and then named by the tables' shape, which 1.0 itself kept.
_UNRELEASED = re.compile(r"00[0-2][0-9]$|first_")


def upgrade(conn: sa.Connection) -> None:
    """Create the tables or bring them up to date, within the caller's transaction.

    Masters that do so at once wait for each other.
    """
    if conn.dialect.name not in _DIALECTS:
        raise UsageError(
            f"the bench tables cannot be kept in {conn.dialect.name}",
            hint="set master.cfg's db_url to sqlite:///… or postgresql+psycopg://…",
        )
    serialise(conn, Lock.UPGRADE)
    require_known(version_of(conn))
    config = _config()
    config.attributes["connection"] = conn
    command.upgrade(config, "head")
    watch(conn)


def require_known(version: str | None) -> None:
    """Refuse tables, there or in a backup, whose revision this release does not have."""
    script = ScriptDirectory.from_config(_config())
    if version is None or version in {one.revision for one in script.walk_revisions()}:
        return
    raise UsageError(
        f"the bench tables have revision {version:.40}",
        hint=(
            "it is from before the first release: begin with an empty database, and import the"
            " samples that you saved as CSV with the code that wrote them (docs/how-to/upgrade.md)"
        )
        if _UNRELEASED.match(version)
        else "a newer buildbot-bench wrote them: install that release or a later one",
    )


# So many rows of each index are enough to tell how many share a name; it takes a fraction of a
# second of however large a table.
_ROWS_READ = 1000


def analyse(conn: sa.Connection) -> None:
    """Let the database learn how large the tables are and what tells their rows apart.

    SQLite takes any testbed for rare until it does, and reads all that was measured there in place
    of an image's few rows. PostgreSQL learns by itself, but not at once where a backup was restored
    or pg_upgrade(1) has run.
    """
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql(f"PRAGMA analysis_limit={_ROWS_READ}")
    for table in sa.inspect(conn).get_table_names():
        if table.startswith("bench_"):
            conn.exec_driver_sql(f"ANALYZE {table}")


def is_current(conn: sa.Connection) -> bool:
    """Whether the tables have the shape of this release."""
    context = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})
    script = ScriptDirectory.from_config(_config())
    return set(context.get_current_heads()) == set(script.get_heads())


def version_of(conn: sa.Connection) -> str | None:
    """The last migration that the tables have seen; None where there are no such tables."""
    context = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _config() -> Config:
    config = Config()
    # A "%" would begin an interpolation.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
