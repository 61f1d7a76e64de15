"""Say of a search what it looks for, what a breakage came to, and how an incident ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns in place; earlier searches looked for changes of level, and none has ended."""
    op.add_column(
        "bench_search",
        sa.Column("kind", sa.String(24), nullable=False, server_default="effect"),
    )
    op.add_column("bench_search", sa.Column("breakage", sa.Text))
    op.add_column("bench_search", sa.Column("recovery", sa.Text))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
