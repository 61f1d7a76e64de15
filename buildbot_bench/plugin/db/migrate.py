"""Bringing the bench_* tables to the shape of this release; knows no single migration.

The migrations lie in migrations/, which is a part of the installed package. Their version table
is our own: Buildbot's is left alone.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from buildbot_bench.core.errors import UsageError
from buildbot_bench.plugin.db.sql import Lock, serialise

VERSION_TABLE = "bench_alembic_version"

_MIGRATIONS = Path(__file__).parent / "migrations"
_DIALECTS = ("sqlite", "postgresql")


def upgrade(conn: sa.Connection) -> None:
    """Create the tables or bring them up to date, within the caller's transaction.

    Masters that do so at once wait for each other. Raises UsageError for a database that we do
    not speak, and for one that a newer release has already changed.
    """
    if conn.dialect.name not in _DIALECTS:
        raise UsageError(
            f"the bench tables cannot be kept in {conn.dialect.name}",
            hint="set master.cfg's db_url to sqlite:///… or postgresql+psycopg://…",
        )
    serialise(conn, Lock.UPGRADE)
    config = _config()
    config.attributes["connection"] = conn
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise UsageError(
            f"the bench tables cannot be upgraded: {error}",
            hint="a newer buildbot-bench wrote them: install that release or a later one",
        ) from error


def is_current(conn: sa.Connection) -> bool:
    """Whether the tables have the shape of this release."""
    context = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE})
    script = ScriptDirectory.from_config(_config())
    return set(context.get_current_heads()) == set(script.get_heads())


def _config() -> Config:
    config = Config()
    # A "%" would begin an interpolation.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
