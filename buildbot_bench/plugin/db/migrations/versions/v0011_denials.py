"""Count how often a site denied a notice apart from how often it was tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column in place; what was tried before counts as never denied."""
    op.add_column(
        "bench_notice", sa.Column("denials", sa.Integer, nullable=False, server_default="0")
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
