"""Keep how often each table was changed, so that nothing is read twice that did not change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table; the triggers that write it are made behind all migrations."""
    op.create_table(
        "bench_change",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("changes", sa.BigInteger, nullable=False),
    )
    op.create_index("bench_change_name", "bench_change", ["name"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
