"""The address of a farm's database, and connections to it beside the master."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.plugin.db.sql import is_current

_PATIENCE_S = 30


def url_of(text: str, master: Path) -> sa.URL:
    """What Buildbot makes of a db_url; a relative SQLite file lies in the master's directory.

    Raises:
        UsageError: It names no database that the tables can be kept in.
    """
    try:
        url = sa.make_url(text)
    except sa.exc.ArgumentError:
        raise UsageError("--db names no database", hint="as in BENCH_DB: sqlite:///…") from None
    match url.get_backend_name():
        case "sqlite":
            return url.set(database=str(master / (url.database or "")))
        case "postgresql":
            return url
        case other:
            raise UsageError(
                f"the bench tables are not kept in {other}",
                hint="name an sqlite:///… or a postgresql+psycopg://… database",
            )


@contextmanager
def snapshot(url: sa.URL) -> Iterator[sa.Connection]:
    """A connection whose one transaction sees the tables as they are now, all at once.

    Raises:
        InfraError: The database does not answer.
        UsageError: There is none, or its tables are not those of this release.
    """
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise UsageError(f"there is no database {url.database}", hint="see --dir and --db")
    engine = engine_of(url)
    try:
        with engine.connect() as conn:
            if engine.dialect.name == "postgresql":
                conn.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            else:
                conn.exec_driver_sql("BEGIN")  # else each SELECT would see another state
            if not is_current(conn):
                raise UsageError(
                    "the farm's tables are not those of this release",
                    hint="start the master of this release once: it migrates them",
                )
            yield conn
    except sa.exc.OperationalError as error:
        raise InfraError(
            f"the database does not answer: {error.orig}", hint="see --db and BENCH_DB"
        ) from error
    except sa.exc.DatabaseError as error:
        raise InfraError(
            f"the database is damaged: {error.orig}", hint="restore the newest backup"
        ) from error
    finally:
        engine.dispose()


def engine_of(url: sa.URL) -> sa.Engine:
    """An engine without a pool; it waits for a master that writes."""
    patience = "timeout" if url.get_backend_name() == "sqlite" else "connect_timeout"
    return sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args={patience: _PATIENCE_S})
