"""Connections to a farm's database beside the master, and copies of the whole of it."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.legible import long_line, one_line, quoted
from buildbot_bench.plugin.db.sql import analyse, is_current, take_write_lock, upgrade, version_of

_BUSY_S = 30


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
    return sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args={patience: _BUSY_S})


_PATIENCE_S = 60.0
# An hour for a farm of years; a server that is silent for longer is gone.
_DUMP_S = 3600.0
_OTHER_BACKUP = "take another backup: this one is damaged"
_ROOM = "is the disk full? Nothing of it was kept: try again"


def copy_database(url: sa.URL, file: Path) -> None:
    """Write a snapshot of all tables, Buildbot's as well, into a new file."""
    if url.get_backend_name() == "postgresql":
        _run("pg_dump", url, "--format=custom", "--no-owner", "--no-privileges", f"--file={file}")
        return
    source = Path(url.database or "")
    if not source.is_file():
        raise UsageError(f"there is no database {source}", hint="see --dir and --db")
    try:
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(file)) as new,
        ):
            old.execute(f"PRAGMA busy_timeout = {_PATIENCE_S * 1000:.0f}")
            old.backup(new)  # in one step: one that writes meanwhile would have it begin again
            new.execute("PRAGMA journal_mode = delete")  # one file, with no log beside it
            (answer,) = new.execute("PRAGMA quick_check").fetchone()
    except sqlite3.Error as error:
        raise InfraError(f"{source} cannot be copied: {error}", hint="is the disk full?") from error
    if answer != "ok":
        raise InfraError(
            f"{source} is damaged: {long_line(answer)}", hint="restore the newest backup before it"
        )


def load_database(file: Path, url: sa.URL, tables: str) -> None:
    """Fill an empty database from a copy, and bring its tables up to date.

    `tables` is the revision that the copy's tables have. A failure leaves the database empty.
    """
    must_be_empty(url)
    if url.get_backend_name() == "postgresql":
        _run(
            "pg_restore", url, "--exit-on-error", "--single-transaction", "--no-owner",
            "--no-privileges", str(file),
        )  # fmt: skip
    try:
        if url.get_backend_name() == "sqlite":
            _copy_whole(file, Path(url.database or ""))
        _migrate(file, url, tables)
    except sa.exc.DatabaseError as error:
        empty(url)
        raise InfraError(
            f"the database does not take the copy: {one_line(str(error.orig))}", hint=_ROOM
        ) from error
    except BaseException:
        empty(url)
        raise


def _copy_whole(file: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target.touch(mode=0o600)
    shutil.copyfile(file, target)
    try:
        with closing(sqlite3.connect(target)) as conn:
            (answer,) = conn.execute("PRAGMA quick_check").fetchone()
    except sqlite3.DatabaseError as error:
        answer = str(error)
    if answer != "ok":
        raise UsageError(f"{file} is damaged: {one_line(answer)}", hint=_OTHER_BACKUP)


def _migrate(file: Path, url: sa.URL, tables: str) -> None:
    with changing(url) as conn:
        if version_of(conn) != tables:
            raise UsageError(f"{file} has not the tables of its manifest", hint=_OTHER_BACKUP)
        upgrade(conn)
        analyse(conn)


@contextmanager
def changing(url: sa.URL) -> Iterator[sa.Connection]:
    """One transaction on a database that nobody else uses."""
    engine = engine_of(url)
    try:
        with engine.begin() as conn:
            take_write_lock(conn)
            yield conn
    finally:
        engine.dispose()


def empty(url: sa.URL) -> None:
    """Take everything out of a database that was empty before, so that it can be filled again."""
    if url.get_backend_name() == "sqlite":
        for file in _files_of(url):
            file.unlink(missing_ok=True)
        return
    with changing(url) as conn:
        there = sa.MetaData()
        there.reflect(conn)
        there.drop_all(conn)
        conn.exec_driver_sql("DROP FUNCTION IF EXISTS bench_watch()")


def _files_of(url: sa.URL) -> list[Path]:
    return [Path(f"{url.database}{suffix}") for suffix in ("", "-journal", "-wal", "-shm")]


def must_be_empty(url: sa.URL) -> None:
    """See that a database has no table, or is not there."""
    if url.get_backend_name() == "sqlite":
        for file in _files_of(url):
            if os.path.lexists(file):
                raise UsageError(f"{file} is there already", hint="restore into a new directory")
        return
    engine = engine_of(url)
    try:
        tables = sa.inspect(engine).get_table_names()
    except sa.exc.OperationalError as error:
        raise InfraError(f"the database does not answer: {error.orig}", hint="see --db") from error
    finally:
        engine.dispose()
    if tables:
        raise UsageError(
            f"the database {url.database} has {len(tables)} tables already",
            hint="make an empty one by createdb(1), and name it by --db or BENCH_DB",
        )


def _run(program: str, url: sa.URL, *arguments: str) -> None:
    """Run a program of PostgreSQL's on a database."""
    try:
        done = subprocess.run(  # noqa: S603 - a list of our own making
            [program, "--no-password", f"--dbname={_conninfo(url)}", *arguments],
            env=os.environ | ({"PGPASSWORD": url.password} if url.password else {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DUMP_S,
            check=False,
        )
    except FileNotFoundError:
        raise InfraError(
            f"there is no {program} here", hint="install PostgreSQL's client programs"
        ) from None
    except subprocess.TimeoutExpired:
        raise InfraError(
            f"{program} did not end within an hour", hint="is the server busy?"
        ) from None
    if done.returncode:
        raise InfraError(
            f"{program} failed: {long_line(done.stderr)}",
            hint=f"is {program} as new as the server, and the database there?",
        )


def _conninfo(url: sa.URL) -> str:
    """Which database is meant, as libpq reads it, without the password."""
    _, settings = url.get_dialect()().create_connect_args(url)
    settings.pop("password", None)
    return " ".join(f"{name}={_quoted(str(value))}" for name, value in settings.items())


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
