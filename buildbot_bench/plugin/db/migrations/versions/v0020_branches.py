"""Let a farm have several branches: where each parts from which, and which an image is of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table and the columns; what is known of the one branch is said to be of it.

    Where commits of several branches came, what came to none of them stays without a branch: it is
    shown on each, as it was.
    """
    op.create_table(
        "bench_branch",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("trunk", sa.Text),
        sa.Column("fork_position", sa.Integer, nullable=False),
        sa.UniqueConstraint("name", name="bench_branch_name_key"),
    )
    for table in ("bench_image", "bench_judgement"):
        op.add_column(table, sa.Column("branch", sa.Text))
    conn = op.get_bind()
    commit = sa.table("bench_commit", *map(sa.column, ("id", "branch", "sha")))
    first = sa.func.min(commit.c.id)
    names = list(
        conn.execute(sa.select(commit.c.branch).group_by(commit.c.branch).order_by(first)).scalars()
    )
    branch = sa.table("bench_branch", *map(sa.column, ("name", "fork_position")))
    for name in names:
        conn.execute(sa.insert(branch).values(name=name, fork_position=0))
    for table, sha in (("bench_image", "sha"), ("bench_judgement", "new_sha")):
        rows = sa.table(table, sa.column("branch"), sa.column(sha))
        if len(names) == 1:
            conn.execute(sa.update(rows).values(branch=names[0]))
            continue
        for name in reversed(names):
            its = sa.select(commit.c.sha).where(commit.c.branch == name)
            conn.execute(sa.update(rows).where(rows.c[sha].in_(its)).values(branch=name))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
