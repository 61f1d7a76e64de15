"""A revision of the tables that no release has, which follows the newest one of this release."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from buildbot_bench.plugin.db import sql

NAME = "second"
_TEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = {name!r}, {before!r}


def upgrade():
    with op.batch_alter_table("bench_commit") as table:
        table.add_column(sa.Column("seen", sa.Integer, server_default="7"))
        table.create_index("bench_commit_seen", ["seen"])
    with op.batch_alter_table("bench_notice") as table:
        table.alter_column("body", existing_type=sa.Text, nullable=True)  # SQLite: a new table
    op.create_table("bench_second", sa.Column("id", sa.Integer, primary_key=True))
"""


def write_revision(directory: Path) -> None:
    """Write its module into a directory, be it that of a release's revisions."""
    before = ScriptDirectory.from_config(sql._config()).get_current_head()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{NAME}.py").write_text(_TEXT.format(name=NAME, before=before))


@contextmanager
def second_revision(directory: Path) -> Iterator[None]:
    """Let this process have the revision meanwhile, as if a later release brought it."""
    plain = sql._config
    write_revision(directory)

    def later():
        config = plain()
        config.set_main_option("version_locations", f"{sql._MIGRATIONS}/versions:{directory}")
        return config

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "_config", later)
        yield
