"""Share the testbeds: what each claimant had, and what people say of their requests."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table and columns; all that was asked for before is of normal priority."""
    for table in ("bench_search", "bench_ab_test"):
        op.add_column(
            table,
            sa.Column("priority", sa.String(24), nullable=False, server_default="normal"),
        )
    op.add_column(
        "bench_ab_test",
        sa.Column("limited", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("bench_ab_test_requester", "bench_ab_test", ["requester"])
    op.create_table(
        "bench_share",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("claimant", sa.Text, nullable=False),
        sa.Column("start", sa.Double, nullable=False),
        sa.Column("finish", sa.Double, nullable=False),
        sa.UniqueConstraint("worker", "claimant", name="bench_share_worker_claimant_key"),
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
