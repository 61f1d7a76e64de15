"""Say of a trial who approved or rejected its patches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column in place; about earlier trials nobody had to decide."""
    op.add_column("bench_trial", sa.Column("decided_by", sa.Text))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
