"""The alembic environment that applies migrations to a given connection or to a URL.

`alembic -x url=sqlite:///scratch.sqlite revision --autogenerate` writes the next migration.
"""

import sqlalchemy as sa
from alembic import context

from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.db.sql import VERSION_TABLE


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Leave Buildbot's tables, which share the database, out of every comparison."""
    return kind != "table" or (name or "").startswith("bench_")


def _migrate(conn: sa.Connection) -> None:
    context.configure(
        connection=conn,
        target_metadata=METADATA,
        version_table=VERSION_TABLE,
        include_name=_is_ours,
        # SQLite alters a table only by making it anew.
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _migrate(given)
else:
    with sa.create_engine(context.get_x_argument(as_dictionary=True)["url"]).begin() as own:
        _migrate(own)
