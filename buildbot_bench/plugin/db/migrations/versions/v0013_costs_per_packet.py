"""Say of captures on how many packets they are based, and where their functions are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns in place; of earlier captures neither is known."""
    packets = sa.Column("packets", sa.Integer, nullable=False, server_default="0")
    op.add_column("bench_capture", packets)
    op.add_column("bench_capture", sa.Column("places", sa.LargeBinary))


def downgrade() -> None:
    """Refuse: what was sampled is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
