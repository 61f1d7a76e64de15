"""Triggers that count each table's changes, and the tables that a statement reads."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy.sql import functions, visitors
from sqlalchemy.sql.dml import UpdateBase
from sqlalchemy.sql.elements import ColumnClause, TextClause
from sqlalchemy.sql.selectable import (
    CTE,
    Alias,
    CompoundSelect,
    FromClause,
    FromGrouping,
    Join,
    Select,
    Subquery,
)

from buildbot_bench.plugin.db.schema import CHANGE

# So many rows are read in a millisecond; more are made few.
MOST_ROWS = 500

_PREFIX = "bench_"
_UNWATCHED = frozenset({CHANGE.name, "bench_lease", "bench_alembic_version"})
_EVENTS = ("INSERT", "UPDATE", "DELETE")

_FUNCTION = """\
CREATE OR REPLACE FUNCTION bench_watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'INSERT INTO ' || quote_ident(TG_TABLE_SCHEMA)
        || '.bench_change (name, changes) VALUES ($1, 1)' USING TG_TABLE_NAME;
    RETURN NULL;
END $$"""
_ON_POSTGRESQL = """\
CREATE TRIGGER bench_watch AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION bench_watch()"""
_ON_SQLITE = """\
CREATE TRIGGER bench_watch_{table}_{event} AFTER {event} ON {table} BEGIN
    INSERT INTO bench_change (name, changes) SELECT '{table}', 0
        WHERE NOT EXISTS (SELECT 1 FROM bench_change WHERE name = '{table}');
    UPDATE bench_change SET changes = changes + 1 WHERE name = '{table}';
END"""
_WATCHED_ON_POSTGRESQL = """\
SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE tgname = 'bench_watch' AND nspname = current_schema()"""
_WATCHED_ON_SQLITE = """\
SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'bench_watch_%'
GROUP BY tbl_name HAVING count(*) = 3"""


def watch(conn: sa.Connection) -> None:
    """Have the changes of each bench_* table counted that nobody counts yet."""
    names = {name for name in sa.inspect(conn).get_table_names() if name.startswith(_PREFIX)}
    new = sorted(names - _UNWATCHED - watched(conn))
    if new and conn.dialect.name == "postgresql":
        conn.exec_driver_sql(_FUNCTION)
    for name in new:
        _watch(conn, name)
    known = set(conn.execute(sa.select(CHANGE.c.name)).scalars())
    _add(conn, dict.fromkeys(sorted(names - _UNWATCHED - known), 0))


def watched(conn: sa.Connection) -> set[str]:
    """The tables whose changes are counted."""
    is_postgresql = conn.dialect.name == "postgresql"
    query = _WATCHED_ON_POSTGRESQL if is_postgresql else _WATCHED_ON_SQLITE
    return set(conn.exec_driver_sql(query).scalars())


def _watch(conn: sa.Connection, table: str) -> None:
    if conn.dialect.name == "postgresql":
        conn.exec_driver_sql(_ON_POSTGRESQL.format(table=table))
        return
    for event in _EVENTS:
        # A migration that builds a table anew drops its triggers, maybe not all of them.
        conn.exec_driver_sql(f"DROP TRIGGER IF EXISTS bench_watch_{table}_{event}")
        conn.exec_driver_sql(_ON_SQLITE.format(table=table, event=event))


class Marks(NamedTuple):
    """By table a number that is another one after each change of the table; of how many rows.

    A table that is not in it is not watched: nobody knows whether it changed.
    """

    of: Mapping[str, int]
    rows: int

    def or_later(self, other: Self) -> Self:
        """Of each table the later number, since numbers only grow."""
        later = {name: max(self.of.get(name, number), number) for name, number in other.of.items()}
        return self._replace(of={**self.of, **later})


def marks(conn: sa.Connection) -> Marks:
    """The numbers as they are now."""
    rows = conn.execute(sa.select(CHANGE.c.name, CHANGE.c.changes)).all()
    return Marks(of=_sums((name, changes) for name, changes in rows), rows=len(rows))


def squeeze(conn: sa.Connection) -> None:
    """Make one row of those of each table; what others add or squeeze meanwhile stays counted."""
    removed = sa.delete(CHANGE).returning(CHANGE.c.name, CHANGE.c.changes)
    _add(conn, _sums((name, changes) for name, changes in conn.execute(removed)))


def _sums(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for name, changes in rows:
        found[name] += changes
    return dict(found)


def _add(conn: sa.Connection, changes: Mapping[str, int]) -> None:
    if changes:
        rows = [{"name": name, "changes": number} for name, number in changes.items()]
        conn.execute(sa.insert(CHANGE), rows)


_ROWS = (sa.Table, Join, Alias, Subquery, CTE, FromGrouping, Select, CompoundSelect)
# What these give follows from their arguments.
_PLAIN = frozenset(
    {"abs", "coalesce", "count", "length", "lower", "max", "min", "substr", "sum", "upper"}
)
# A condition, `state IN ('lost')`: no function, no query within.
_CALL = re.compile(r"(\w+)\s*\(")
_QUERY = re.compile(r"\b(select|from|join|table|with|values|current_\w+)\b", re.IGNORECASE)


@lru_cache(maxsize=500)  # as many as SQLAlchemy keeps
def tables_read(statement: object) -> frozenset[sa.Table] | None:
    """The tables of a SELECT, wherever in it they stand; None when there may be others."""
    if not isinstance(statement, Select | CompoundSelect):
        return None
    found: set[sa.Table] = set()
    for part in _parts(statement):
        if not _is_plain(part):
            return None
        if isinstance(part, sa.Table):
            found.add(part)
        elif isinstance(part, ColumnClause) and isinstance(part.table, sa.Table):
            found.add(part.table)
    return frozenset(found)


def _parts(statement: Select[Any] | CompoundSelect[Any]) -> Iterator[object]:
    return iter(visitors.iterate(statement))


def _is_plain(part: object) -> bool:
    match part:
        case TextClause():
            return _is_condition(part.text)
        case ColumnClause(is_literal=True):
            return _is_condition(part.name)
        case functions.FunctionElement():
            return part.name.lower() in _PLAIN and type(part).__module__ == functions.__name__
        case UpdateBase():
            return False
        case FromClause():
            return isinstance(part, _ROWS)
        case _:
            return True


def _is_condition(text: str) -> bool:
    calls = {name.lower() for name in _CALL.findall(text)} - {"in", "and", "or", "not"}
    return not calls and not _QUERY.search(text)
