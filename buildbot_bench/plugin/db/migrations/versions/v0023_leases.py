"""Say which of several masters runs the broker, and which of them live."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "bench_lease",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("token", sa.String(36), nullable=False),
        sa.Column("masterid", sa.Integer, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("trouble", sa.Text, nullable=False),
        sa.UniqueConstraint("name"),
    )


def downgrade() -> None:
    """Refuse: two brokers would run."""
    raise NotImplementedError("restore a backup instead of going back")
