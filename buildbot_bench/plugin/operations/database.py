"""The address of a farm's database, and connections to it beside the master."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import quoted
from buildbot_bench.plugin.db.sql import is_current

_PATIENCE_S = 30


def url_of(text: str, master: Path) -> sa.URL:
    """What Buildbot makes of a db_url; a relative SQLite file lies in the master's directory."""
    hint = "name an sqlite:///… or a postgresql+psycopg://… database"
    try:
        url = sa.make_url(text)
        if (kind := url.get_backend_name()) not in {"sqlite", "postgresql"}:
            raise UsageError(f"the bench tables are not kept in {quoted(kind)}", hint=hint)
        url.get_dialect().import_dbapi()
    except (sa.exc.ArgumentError, ValueError):
        raise UsageError("--db names no database", hint=hint) from None
    except ImportError as error:
        raise UsageError(f"--db needs {quoted(error.name)}, which is not here", hint=hint) from None
    return url.set(database=str(master / (url.database or ""))) if kind == "sqlite" else url


@contextmanager
def snapshot(url: sa.URL) -> Iterator[sa.Connection]:
    """A connection whose one transaction sees the tables as they are now, all at once."""
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
