"""Say of a search which commit it carries along."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns in place; earlier searches carried nothing."""
    op.add_column("bench_search", sa.Column("fix_sha", sa.String(40)))
    op.add_column("bench_search", sa.Column("fix_patch", sa.String(64)))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
