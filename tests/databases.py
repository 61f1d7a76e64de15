"""Empty databases for tests, on SQLite and on PostgreSQL.

PostgreSQL's are schemas, or whole databases, of the server that BENCH_TEST_POSTGRESQL names. Their
names are drawn, so that runs side by side do not meet, and they are dropped when the test ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

DEFAULT_POSTGRESQL = "postgresql+psycopg://root@127.0.0.1:5432/test"
DATABASES = ("sqlite", "postgresql")

COUNTS = "bench_change"
_FROM_ONE = """\
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE schemaname = current_schema()"""


def postgresql_server() -> sa.Engine:
    """The server; whoever asks for it is skipped where none answers."""
    url = os.environ.get("BENCH_TEST_POSTGRESQL", DEFAULT_POSTGRESQL)
    engine = sa.create_engine(url, connect_args={"connect_timeout": 5})
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        pytest.skip(f"no PostgreSQL at {engine.url} (set BENCH_TEST_POSTGRESQL): {error.orig}")
    return engine


def sqlite_engine(path: Path) -> sa.Engine:
    """A file, which is kept open: to open it costs more than most transactions.

    No test pulls the plug: waiting for the disk would be most of their time. What PostgreSQL
    refuses, a row that names one that there is not, SQLite is to refuse as well.
    """
    engine = sa.create_engine(f"sqlite:///{path}?timeout=60", poolclass=sa.QueuePool)

    @sa.event.listens_for(engine, "connect")
    def _connected(raw: Any, _record: object) -> None:
        raw.execute("PRAGMA synchronous = off")
        raw.execute("PRAGMA foreign_keys = on")

    return engine


@contextmanager
def new_schema(server: sa.Engine) -> Iterator[sa.Engine]:
    """An engine whose connections see one schema, which is dropped afterwards."""
    name = f"bench_test_{uuid4().hex}"
    with server.begin() as conn:
        conn.execute(sa.schema.CreateSchema(name))
    options = f"-csearch_path={name} -csynchronous_commit=off"  # see sqlite_engine
    engine = sa.create_engine(server.url.update_query_dict({"options": options}))
    try:
        yield engine
    finally:
        engine.dispose()
        with server.begin() as conn:
            conn.execute(sa.schema.DropSchema(name, cascade=True))


@contextmanager
def new_database(server: sa.Engine) -> Iterator[str]:
    """The URL of a database, which is dropped afterwards, whoever is still connected."""
    name = f"bench_test_{uuid4().hex}"
    with server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
        connection.execute(sa.text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
        try:
            yield server.url.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))


@contextmanager
def closed_database(server: sa.Engine, url: str) -> Iterator[None]:
    """Meanwhile nobody gets into a database of `new_database`, and all who were in it are out.

    So it looks from outside when a server restarts, which other tests use at the same time.
    """
    name = sa.make_url(url).database
    out = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE datname = :name"
    with server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        try:
            connection.execute(sa.text(out), {"name": name})
            yield
        finally:
            connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))


def empty_tables(engine: sa.Engine, tables: sa.MetaData) -> None:
    """Delete all rows; on PostgreSQL the numbers begin anew with 1, as they do on a new file.

    TRUNCATE would give each table and each index a new file: half a second, where a test has put
    a few rows into a few of them.
    """
    with engine.begin() as conn:
        behind_others = list(reversed(tables.sorted_tables))
        # Each of the others leaves a row in the last one, which counts changes.
        for table in sorted(behind_others, key=lambda one: one.name == COUNTS):
            conn.execute(sa.delete(table))
        if engine.dialect.name == "postgresql":
            conn.execute(sa.text(_FROM_ONE))
