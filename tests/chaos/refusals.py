"""A database that refuses one kind of statement for a while, as one does whose disk is full."""

from contextlib import suppress
from typing import Protocol

import sqlalchemy as sa

NAME = "chaos_refuses"
# In PostgreSQL the error of a full disk; in SQLite one of the same class.
_FUNCTION = f"""\
CREATE OR REPLACE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'database or disk is full' USING ERRCODE = 'disk_full'; END $$"""
_BODY = {
    "sqlite": "BEGIN SELECT 1 FROM database_or_disk_is_full; END",
    "postgresql": f"EXECUTE FUNCTION {NAME}()",
}


class Database(Protocol):
    """Where a farm keeps its tables."""

    database: sa.Engine


class Refusals:
    """One trigger of the database's own, so that nothing of the farm's has to know of it.

    A power cut may bring one back that was dropped: after it, none is taken for gone.
    """

    def __init__(self, farm: Database) -> None:
        self._farm = farm
        self._is_wanted = False
        self._may_be_there = False

    def begin(self, event: str) -> None:
        """Refuse what `event` names; DBAPIError where that cannot be said to the database now."""
        self._may_be_there = self._is_wanted = True
        try:
            with self._farm.database.begin() as conn:
                dialect = conn.dialect.name
                if dialect == "postgresql":
                    conn.execute(sa.text(_FUNCTION))
                trigger = f"CREATE TRIGGER {NAME} BEFORE {event} FOR EACH ROW {_BODY[dialect]}"
                conn.exec_driver_sql(trigger)
        except sa.exc.DBAPIError:
            self._is_wanted = False
            raise

    def end(self) -> None:
        """Refuse nothing from the next `settle` on at which the database answers."""
        self._is_wanted = False
        self._may_be_there = True

    def settle(self) -> None:
        """Drop what is no longer wanted."""
        if self._is_wanted or not self._may_be_there:
            return
        with suppress(sa.exc.DBAPIError), self._farm.database.begin() as conn:
            for table in _tables(conn):
                on = f" ON {table} CASCADE" if conn.dialect.name == "postgresql" else ""
                conn.exec_driver_sql(f"DROP TRIGGER {NAME}{on}")
            self._may_be_there = False


def _tables(conn: sa.Connection) -> list[str]:
    """The tables that have the trigger."""
    query = {
        "sqlite": "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name = :name",
        "postgresql": "SELECT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
        " WHERE tgname = :name AND relnamespace = current_schema()::regnamespace",
    }[conn.dialect.name]
    return list(conn.execute(sa.text(query), {"name": NAME}).scalars())
