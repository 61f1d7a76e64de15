"""Let a farm watch several repositories: two of them may hold the same commit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

_KEYS = {
    "bench_image": ("variant", "ordinal"),
    "bench_judgement": ("testbed", "workload", "new_sha", "old_sha"),
}


def upgrade() -> None:
    """Add a column: all that is there is of the first repository, whose name is empty."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("PRAGMA defer_foreign_keys = ON")
        for table, key in _KEYS.items():
            _remake(table, key)
    else:
        for table, key in _KEYS.items():
            op.add_column(table, _repository())
            op.drop_constraint(_name(table, key), table)
            op.create_unique_constraint(_name(table, _new(key)), table, _new(key))
    op.add_column("bench_search", _repository())
    op.drop_index("bench_image_position_version", "bench_image")
    op.create_index(
        "bench_image_position_version_repository",
        "bench_image",
        ["position", "version", "repository"],
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _repository() -> sa.Column[str]:
    return sa.Column("repository", sa.Text, nullable=False, server_default="")


def _new(key: tuple[str, ...]) -> list[str]:
    return ["repository", *key]


def _name(table: str, key: tuple[str, ...] | list[str]) -> str:
    return "_".join([table, *key, "key"])


def _remake(name: str, key: tuple[str, ...]) -> None:
    """SQLite drops no constraint: the table is made anew under its name, with its indexes.

    Others refer to it. Until they do so again, when all is back, nobody asks whether they do.
    """
    conn = op.get_bind()
    table = sa.Table(name, sa.MetaData(), autoload_with=conn)
    columns = ", ".join(f'"{column}"' for column in table.c.keys())  # noqa: SIM118 - names
    (old,) = [
        one
        for one in table.constraints
        if isinstance(one, sa.UniqueConstraint) and set(one.columns.keys()) == {*key}
    ]
    table.constraints.remove(old)
    table.append_column(_repository())
    table.append_constraint(sa.UniqueConstraint(*_new(key), name=_name(name, _new(key))))
    op.execute(f"CREATE TABLE {name}_before AS SELECT * FROM {name}")  # noqa: S608
    op.drop_table(name)
    table.create(conn)
    op.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM {name}_before")  # noqa: S608
    op.drop_table(f"{name}_before")
