"""`python -m tests.stored_tables`: store the tables of this release, with a row of each kind.

A maintainer runs it at each release with a revision of its own. tests/data/tables/ has SQLite's own
text of each, by the revision's name up to a "_". What a release stored is never stored anew: later
releases have to read it.
"""

import asyncio
import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa
from alembic import command

from buildbot_bench.core.errors import UsageError
from buildbot_bench.history import MirrorHistory
from buildbot_bench.plugin.db import sql
from buildbot_bench.plugin.farm import Farm
from buildbot_bench.workflow.load import load
from tests.databases import sqlite_engine
from tests.fakes.database import DirectPool
from tests.fakes.full_past import WHOLE, live_through_everything, take_leases
from tests.fakes.master import FakeMaster
from tests.fakes.past import Past
from tests.gitrepo import make_repository, numbered

STORED = Path(__file__).parent / "data" / "tables"
CHANGED = (
    "the schema changed: write v1_first.py out as it was, and add a revision (CONTRIBUTING.md)"
)
_WORKFLOW = Path(__file__).parent / "plugin" / "bench.yml"


def main() -> None:
    """Write the file of the newest revision."""
    with TemporaryDirectory() as home:
        engine = sqlite_engine(Path(home) / "state.sqlite")
        asyncio.run(_live(Path(home), engine))
        with engine.connect() as conn:
            revision = sql.version_of(conn)
        engine.dispose()
        with closing(sqlite3.connect(f"{home}/state.sqlite")) as conn:
            text = "\n".join(conn.iterdump())
    target = STORED / f"{str(revision).partition('_')[0]}.sql.gz"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{target}: {revision}, {target.stat().st_size} bytes")


async def _live(home: Path, engine: sa.Engine) -> None:
    with engine.begin() as conn:
        sql.take_write_lock(conn)
        sql.upgrade(conn)
    shas = make_repository(home / "src", numbered(1, 20))
    MirrorHistory(home / "mirror.git", str(home / "src")).fetch()
    text = _WORKFLOW.read_text().replace("REPOSITORY", str(home / "src")).replace("PORT", "25")
    for old, new in WHOLE:
        text = text.replace(old, new)
    (home / "bench.yml").write_text(text)
    master = FakeMaster(basedir=home, pool=DirectPool(engine))
    past = Past(Farm(workflow=load(home / "bench.yml"), master=master), dict(enumerate(shas, 1)))
    await live_through_everything(past)
    await take_leases(past)


def restore(file: Path, engine: sa.Engine, scratch: Path) -> None:
    """Fill an empty database with what a release stored; AssertionError if nobody can read it."""
    with closing(sqlite3.connect(scratch)) as raw:
        raw.executescript(gzip.decompress(file.read_bytes()).decode())
    source = sa.create_engine(f"sqlite:///{scratch}", poolclass=sa.NullPool)
    with source.connect() as old, engine.begin() as new:
        revision = sql.version_of(old) or ""
        try:
            sql.require_known(revision)
        except UsageError as error:
            raise AssertionError(CHANGED) from error
        if engine.dialect.name == "sqlite":
            old.connection.driver_connection.backup(new.connection.driver_connection)
            return
        config = sql._config()
        config.attributes["connection"] = new
        command.upgrade(config, revision)
        _copy(old, new)


def _copy(old: sa.Connection, new: sa.Connection) -> None:
    """Copy all rows to PostgreSQL's tables, whose numbers go on behind them."""
    there, here = sa.MetaData(), sa.MetaData()
    there.reflect(old)
    here.reflect(new)
    new.execute(sa.text("SET session_replication_role = replica"))  # rows name one another
    for name, table in here.tables.items():
        rows = [dict(row) for row in old.execute(sa.select(there.tables[name])).mappings()]
        new.execute(sa.delete(table))
        if rows:
            new.execute(sa.insert(table), rows)
        if "id" in table.c:
            last = sa.select(sa.func.max(table.c.id)).scalar_subquery()
            new.execute(sa.select(sa.func.setval(f"{name}_id_seq", last)))
    new.execute(sa.text("SET session_replication_role = origin"))


if __name__ == "__main__":
    main()
