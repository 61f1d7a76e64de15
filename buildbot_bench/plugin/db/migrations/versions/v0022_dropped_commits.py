"""Keep what a branch had before it was moved back or replaced; nothing is known of earlier ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "bench_dropped_commit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("sha", sa.String(40), nullable=False),
        sa.UniqueConstraint("branch", "sha"),
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
