"""Farms as earlier releases left them, from tests/data/farm, and their tables as plain rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from alembic import command

from buildbot_bench.plugin.db import sql
from buildbot_bench.plugin.db.sql import VERSION_TABLE
from tests.databases import sqlite_engine

FARMS = Path(__file__).parents[1] / "data" / "farm"

Rows = list[dict[str, object]]


def all_rows(engine: sa.Engine) -> dict[str, Rows]:
    """All that is in the tables, as they are."""
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.connect() as conn:
        return {
            table.name: [dict(row) for row in conn.execute(table.select()).mappings()]
            for table in tables.sorted_tables
            if table.name != VERSION_TABLE
        }


def earlier_farm(name: str, path: Path) -> sa.Engine:
    """That farm's tables in a SQLite file."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript((FARMS / name).read_text(encoding="utf-8"))
    return sqlite_engine(path)


def upgrade_to(engine: sa.Engine, release: str) -> None:
    """Have the migrations up to that one run."""
    with engine.begin() as conn:
        sql.take_write_lock(conn)
        config = sql._config()
        config.attributes["connection"] = conn
        command.upgrade(config, release)


def fill(engine: sa.Engine, rows: dict[str, Rows]) -> None:
    """Into the tables of the release before, on any database; parents come first."""
    tables = sa.MetaData()
    tables.reflect(engine)
    with engine.begin() as conn:
        for table in tables.sorted_tables:
            if rows.get(table.name):
                conn.execute(table.insert(), rows[table.name])
